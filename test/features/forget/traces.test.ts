/** Erased data leaves nothing behind in the database's files. */
import { existsSync, readFileSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { forget } from '../../support/harness/commands.js'
import { onServer } from '../../support/harness/databases.js'
import { configure } from '../../support/harness/place.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, forgetEmptyTable, liftForgotten, reopen } from '../../support/harness/warehouse.js'

const word = 'Grzegorz Brzeczyszczykiewicz'
const sandbox = await sandboxOfFile()
for (const id of [1, 2]) {
  sandbox.store.addTenant({ id })
  const name = id === 1 ? word : 'Jane Roe'
  for (let n = 1; n <= 150; n++)
    sandbox.store.put(id, 'notes', {
      ...template('notes', n, '2026-01-01T00:00:00Z'),
      message: `${name} ${n}`,
      // In quarantine too, and in the columns of unknown fields.
      user_id: `${name} ${n}`,
      nickname: `${name} ${n}`,
    })
}

/** How often a word occurs in the files of a SQLite warehouse. */
function traces(url: string): number {
  const path = url.slice('sqlite:'.length)
  const files = [path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file))
  return files.reduce((sum, file) => sum + readFileSync(file, 'latin1').split(word).length - 1, 0)
}

const sqlite = bothWarehouses().filter(({ name }) => name === 'sqlite')
const postgres = bothWarehouses().filter(({ name }) => name === 'postgres')

describe.each(sqlite)('$name', (kind) => {
  async function filled() {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    await sync(sandbox, warehouse, { resources: ['notes'] })
    expect(traces(address.url)).toBeGreaterThan(300)
    return { address, warehouse }
  }

  it('leaves no trace of an erased name in the file, nor in the -wal file', async () => {
    const { address, warehouse } = await filled()
    expect(await forget(sandbox, warehouse, 1)).toMatchObject({ traces_left: null })
    expect(traces(address.url)).toBe(0)
    await warehouse.close()
    expect(traces(address.url)).toBe(0)
  })

  it('reports that traces remain while a reader sees an older state, and removes them when asked again', async () => {
    const { address, warehouse } = await filled()
    await warehouse.close()
    const reader = new BetterSqlite3(address.url.slice('sqlite:'.length), { readonly: true })
    const reading = reader.prepare('select * from notes').iterate()
    reading.next()
    const config = configure(sandbox, address, ['notes'])
    const words = ['forget', '--tenant', '1', '--yes', '--config', config]
    const kept = await shopsync(words)
    expect(kept.code, kept.stderr).toBe(1)
    expect(kept.stdout).toMatch(/Traces remain in warehouse\.db.*\n?.*shopsync forget --tenant 1 --yes/)
    reading.return?.()
    reader.close()
    const again = await shopsync(words)
    expect(again, again.stderr).toMatchObject({ code: 0 })
    expect(again.stdout).toContain('Backups and copies of the file')
    expect(traces(address.url)).toBe(0)
    // Erasing it again is harmless.
    expect((await shopsync(words)).code).toBe(0)
  })
})

describe.each(postgres)('$name', (kind) => {
  it('removes the dead versions from the tables, and says where others may be', async () => {
    // Its own database: other tests' transactions would keep the dead rows.
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    await sync(sandbox, warehouse, { resources: ['notes'] })
    const gone = await forget(sandbox, warehouse, 1)
    expect(gone).toMatchObject({ traces_left: null })
    expect(gone.elsewhere).toMatch(/Backups.*WAL/)
    // A vacuum releases the pages at the end of a table; before that, dead rows keep them.
    const size = async (): Promise<number> => {
      const asked = sql<{
        bytes: number
      }>`select pg_relation_size(${`${address.schema}.notes`}::regclass)::int as bytes`
      return (await asked.execute(warehouse.db)).rows[0]?.bytes ?? 0
    }
    await warehouse.write([liftForgotten(warehouse.db, 1)])
    await sync(sandbox, warehouse, { resources: ['notes'] })
    const before = await size()
    await warehouse.write([
      warehouse.db.deleteFrom('sync_cursors').where('tenant_id', '=', 2).compile(),
      sql`delete from ${sql.id(address.schema, 'notes')} where tenant_id = 2`.compile(warehouse.db),
    ])
    expect(await size()).toBe(before)
    await forget(sandbox, warehouse, 1)
    expect(await size()).toBe(0)
    await warehouse.close()
  })

  it('leaves no value in the statistics of a table that is empty afterwards', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    const { db } = warehouse
    const known = async (): Promise<string> => {
      const { rows } = await sql<{ row: string }>`select s::text as row from pg_stats as s
        where schemaname = ${address.schema}`.execute(db)
      return rows.map(({ row }) => row).join()
    }
    const notes = sql.id(address.schema, 'notes')
    const analyzed = async (): Promise<void> => {
      await sync(sandbox, warehouse, { resources: ['notes'] })
      await sql`delete from ${notes} where tenant_id = 2`.execute(db)
      await sql`analyze ${notes}`.execute(db)
      expect(await known()).toContain(word)
    }
    await analyzed()
    // Who doesn't own the tables can't vacuum them.
    const runner = `eraser_${address.schema}`
    await onServer(
      address.url,
      `create role ${runner} login`,
      `grant usage on schema ${address.schema} to ${runner}`,
      `grant select, insert, update, delete on all tables in schema ${address.schema} to ${runner}`,
    )
    const url = new URL(address.url)
    url.username = runner
    const other = await reopen({ ...address, url: url.href })
    expect((await forget(sandbox, other, 1)).traces_left).toMatch(
      /^Traces remain in \w+, .* and \d+ more, since only the owner/,
    )
    await other.close()
    expect(await known()).toContain(word)
    expect(await forget(sandbox, warehouse, 1)).toMatchObject({ traces_left: null })
    expect(await known()).not.toContain(word)
    await warehouse.write([
      liftForgotten(db, 1),
      db.deleteFrom('sync_cursors').where('tenant_id', '=', 2).compile(),
    ])
    await analyzed()
    const { rows: before } = await sql`select * from ${notes}`.execute(db)
    await forgetEmptyTable(db, address.schema, 'notes')
    expect((await sql`select * from ${notes}`.execute(db)).rows).toEqual(before)
    await sql`delete from ${notes}`.execute(db)
    await sql`vacuum (analyze) ${notes}`.execute(db)
    expect(await known()).toContain(word)
    await forgetEmptyTable(db, address.schema, 'notes')
    expect(await known()).not.toContain(word)
    expect((await sql`select * from ${notes}`.execute(db)).rows).toEqual([])
    await warehouse.close()
    await onServer(address.url, `drop owned by ${runner}`, `drop role ${runner}`)
  })
})
