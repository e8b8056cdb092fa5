/** A reader that keeps a copy of all tables by the SQL of docs/increments.md, in the same database as the warehouse. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import pg from 'pg'
import { derivedTables } from '../../../schema/index.js'
import type { Table } from '../../../src/engine/model/table.js'
import { blocksOf } from '../harness/docs.js'
import type { Address } from '../harness/place.js'
import { known } from '../harness/runs.js'
import { scratch } from '../harness/scratch.js'

interface Sql {
  run(text: string): Promise<void>
  rows(text: string): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

function onSqlite(url: string): Sql {
  const db = new BetterSqlite3(':memory:')
  const own = join(scratch(), 'mart.db')
  const files = {
    mart: own,
    shopsync: url.slice('sqlite:'.length),
    shopsync_analytics: url.slice('sqlite:'.length),
  }
  for (const [name, file] of Object.entries(files)) db.exec(`attach '${file}' as ${name}`)
  return {
    run: async (text) => void db.exec(text),
    rows: async (text) => db.prepare(text).all() as Record<string, unknown>[],
    close: async () => void db.close(),
  }
}

async function onPostgres({ url, schema }: Address): Promise<Sql> {
  const client = new pg.Client(url)
  await client.connect()
  const mart = `mart_${randomBytes(4).toString('hex')}`
  const named = (text: string): string =>
    text
      .replaceAll(/\bshopsync_analytics\./g, `"${schema}_analytics".`)
      .replaceAll(/\bshopsync\./g, `"${schema}".`)
      .replaceAll(/\bmart\./g, `${mart}.`)
  await client.query(`create schema ${mart}`)
  return {
    run: async (text) => void (await client.query(named(text))),
    rows: async (text) => (await client.query<Record<string, unknown>>(named(text))).rows,
    close: () => client.end(),
  }
}

const [once = '', each = ''] = blocksOf('docs/increments.md')
  .filter(({ language }) => language === 'sql')
  .map(({ text }) => text)
const [head = '', ofOwner = '', ofChild = '', tail = ''] = each.split('\n\n')
const [dropChanged = '', ...rest] = tail.split('\n')

/** A table of records or totals, and its nested lists. */
interface Kept {
  readonly root: Table
  readonly key: string
  readonly children: readonly Table[]
}

const kept: readonly Kept[] = known.list.flatMap(({ tables: [root, ...children], derived }) => [
  ...(root
    ? [{ root, key: root.key[1] ?? '', children: children.filter(({ role }) => role === 'child') }]
    : []),
  ...derived.map(({ table }) => ({ root: table, key: table.owner ?? '', children: [] })),
])

const forRoot = (text: string, { root, key }: Kept): string =>
  text.replaceAll(/\brepair_orders\b/g, root.name).replaceAll(/\bid\b/g, key)

const forChild = (text: string, own: Kept, child: Table): string =>
  forRoot(
    text
      .replaceAll(/\brepair_order_parts\b/g, child.name)
      .replaceAll(/\brepair_order_id\b/g, child.owner ?? ''),
    own,
  )

export class CopyReader {
  private constructor(
    private readonly sql: Sql,
    readonly tables: readonly Kept[],
  ) {}

  /** `only`: the tables of records to copy. */
  static async open(address: Address, only: readonly string[]): Promise<CopyReader> {
    const sql = address.url.startsWith('sqlite:') ? onSqlite(address.url) : await onPostgres(address)
    const some = kept.filter(
      ({ root }) =>
        only.includes(root.name) ||
        (only.includes('repair_orders') && Object.hasOwn(derivedTables, root.name)),
    )
    const reader = new CopyReader(sql, some)
    const lines = once.split('\n').filter((line) => !line.includes('repair_order'))
    const tables = some.flatMap(({ root, children }) => [root, ...children])
    const made = tables.map(
      ({ name }) => `create table mart.${name} as select * from shopsync.${name} where 1 = 0;`,
    )
    await sql.run([...lines, ...made].join('\n'))
    return reader
  }

  /** Continues the copy. Returns `through`. */
  async poll(): Promise<string> {
    const parts = this.tables.flatMap((own) => [
      forRoot(ofOwner, own),
      ...own.children.map((child) => forChild(ofChild, own, child)),
      dropChanged,
    ])
    await this.sql.run(['begin;', head, ...parts, ...rest, 'commit;'].join('\n'))
    const [row] = await this.sql.rows('select cast(min(through) as text) as through from mart.progress')
    return String(row?.through ?? '')
  }

  /** By table: how many rows the copy lacks, and how many it has that the warehouse hasn't, or has otherwise. */
  async differences(): Promise<Record<string, { lacking: number; wrong: number }>> {
    const found: Record<string, { lacking: number; wrong: number }> = {}
    for (const { root, key, children } of this.tables)
      for (const table of [root, ...children]) {
        const isLive = `exists (select 1 from shopsync.${root.name} r where r.tenant_id = t.tenant_id
          and r.${key} = t.${table === root ? key : table.owner} and r._deleted_at is null)`
        const theirs = `select * from shopsync.${table.name} t where ${isLive}`
        const ours = `select * from mart.${table.name}`
        const count = async (text: string) =>
          Number((await this.sql.rows(`select count(*) as n from (${text}) x`))[0]?.['n'])
        const lacking = await count(`${theirs} except ${ours}`)
        const wrong = await count(`${ours} except ${theirs}`)
        const doubled = (await count(ours)) - (await count(theirs))
        if (lacking + wrong > 0 || doubled !== 0) found[table.name] = { lacking, wrong }
      }
    return found
  }

  close(): Promise<void> {
    return this.sql.close()
  }
}
