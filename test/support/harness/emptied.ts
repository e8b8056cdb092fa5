/**
 * An open warehouse that is emptied between tests: its connections stay, and what its tables held before the first one.
 * Postgres deletes from all tables with one statement, 1 ms of processor time. SQLite is asked first which have rows.
 */
import { rmSync } from 'node:fs'
import { sql } from 'kysely'
import type { Dialect } from '../../../src/engine/warehouse/dialect.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'

const ask = async <Row>(dialect: Dialect, text: string): Promise<readonly Row[]> =>
  (await sql.raw<Row>(text).execute(dialect.db)).rows

/** Changes with every table, column, index, view, trigger or right that somebody adds or removes. */
const layoutOf = async (dialect: Dialect): Promise<string> =>
  JSON.stringify(
    await ask(
      dialect,
      dialect.locksRows
        ? `select count(*) as relations, max(c.xmin::text::bigint) as last from pg_class c join pg_class m using (relnamespace)
             where m.oid = '${dialect.views().sql.table('sync_meta')}'::regclass`
        : // Statistics come with the first pages.
          `select sql from sqlite_schema where name not like 'sqlite_stat%' order by name`,
    ),
  )

async function deleteAtOnce(dialect: Dialect, tables: readonly string[]): Promise<void> {
  const { table } = dialect.views().sql
  const each = tables.map((name) => `from_${name} as (delete from ${table(name)})`)
  await ask(dialect, `with ${each.join(', ')} select 1`)
}

async function deleteFound(dialect: Dialect, tables: readonly string[]): Promise<void> {
  const each = tables.map((name) => `select '${name}' as name where exists (select 1 from "${name}")`)
  for (const { name } of await ask<{ readonly name: string }>(dialect, each.join(' union all ')))
    await ask(dialect, `delete from "${name}"`)
  // What a listener received.
  for (const end of ['', '-wal', '-shm']) rmSync(`${dialect.file.atPath()}.events${end}`, { force: true })
}

type Meta = readonly { readonly name: string; readonly value: string | null }[]

export class Emptied {
  private constructor(
    readonly dialect: Dialect,
    private readonly tables: readonly string[],
    private readonly layout: string,
    private readonly meta: Meta,
  ) {}

  static async of({ dialect, tables }: Writer): Promise<Emptied> {
    const others = tables.map(({ name }) => name).filter((name) => name !== 'sync_meta')
    const meta = await dialect.db.selectFrom('sync_meta').selectAll().execute()
    return new Emptied(dialect, others, await layoutOf(dialect), meta)
  }

  /** `last`: the test that had it before. */
  async empty(last: string | undefined): Promise<void> {
    const { dialect, tables, layout, meta } = this
    if ((await layoutOf(dialect)) !== layout)
      throw new Error(`${last} has changed tables, or rights on them: it needs a warehouse of its own`)
    await (dialect.locksRows ? deleteAtOnce : deleteFound)(dialect, tables)
    await dialect.db.deleteFrom('sync_meta').execute()
    await dialect.db
      .insertInto('sync_meta')
      .values([...meta])
      .execute()
  }
}
