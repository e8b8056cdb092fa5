/** Erased data leaves nothing behind in the database's files. */
import { existsSync, readFileSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { copied } from '../../support/harness/clones.js'
import { forget } from '../../support/harness/commands.js'
import { onServer } from '../../support/harness/databases.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, forgetEmptyTable, reopen, type Warehouse } from '../../support/harness/warehouse.js'

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

const [sqlite, postgres] = bothWarehouses()

it('sqlite: leaves no trace of an erased name in the file, nor in the -wal file, and reports those that a reader of an older state keeps', async () => {
  const desk = new Desk(sandbox, await sqlite!.viewed(), ['notes'])
  const { url } = desk.address
  await desk.done('sync')
  expect(traces(url)).toBeGreaterThan(300)
  const words = 'forget --tenant 1 --yes'
  await desk.look(async () => {
    const reader = new BetterSqlite3(url.slice('sqlite:'.length), { readonly: true })
    const reading = reader.prepare('select * from notes').iterate()
    reading.next()
    const kept = await desk.run(words)
    expect(kept.code, kept.stderr).toBe(1)
    expect(kept.stdout).toMatch(/Traces remain in warehouse\.db.*\n?.*shopsync forget --tenant 1 --yes/)
    expect(traces(url)).toBeGreaterThan(0)
    reading.return?.()
    reader.close()
    await desk.done(words)
    expect(traces(url)).toBe(0)
    // Erasing it again is harmless.
    await desk.done(words)
  })
  expect(traces(url)).toBe(0)
})

describe('postgres', () => {
  // Its own database: other tests' transactions would keep the dead rows.
  let synced: Address
  beforeAll(async () => {
    synced = await postgres!.viewed()
    await new Desk(sandbox, synced, ['notes']).done('sync')
  })

  /** A copy of it, and somebody who types. */
  const begun = async () => {
    const address = await copied(synced)
    const warehouse = await reopen(address)
    const type = (text: string) => sql.raw<{ n: number }>(text).execute(warehouse.db)
    return { address, warehouse, type }
  }

  /** What the planner remembers of the rows. */
  const known = async ({ db }: Warehouse): Promise<string> => {
    const asked = sql<{ row: string }>`select s::text as row from pg_stats s where schemaname = 'shopsync'`
    return (await asked.execute(db)).rows.map(({ row }) => row).join()
  }

  it('removes the dead versions from the tables, and says where others may be', async () => {
    const { warehouse, type } = await begun()
    // A vacuum releases the pages at the end of a table; before that, dead rows keep them.
    const size = async (): Promise<number> =>
      (await type(`select pg_relation_size('shopsync.notes')::int as n`)).rows[0]?.n ?? 0
    const before = await size()
    await type('delete from shopsync.notes where tenant_id = 2')
    expect([await size(), before > 0]).toEqual([before, true])
    const gone = await forget(sandbox, warehouse, 1)
    expect(gone).toMatchObject({ traces_left: null, elsewhere: expect.stringMatching(/Backups.*WAL/) })
    expect(await size()).toBe(0)
  })

  it('leaves no value in the statistics of a table that is empty afterwards', async () => {
    const { address, warehouse, type } = await begun()
    await type('delete from shopsync.notes where tenant_id = 2')
    await type('analyze shopsync.notes')
    // Who doesn't own the tables can't vacuum them.
    const runner = `eraser_${new URL(address.url).pathname.slice(1)}`
    await onServer(
      address.url,
      `create role ${runner} login`,
      `grant usage on schema shopsync to ${runner}`,
      `grant select, insert, update, delete on all tables in schema shopsync to ${runner}`,
    )
    const other = await reopen({ ...address, url: address.url.replace('postgres@', `${runner}@`) })
    expect((await forget(sandbox, other, 1)).traces_left).toMatch(
      /^Traces remain in \w+, .* and \d+ more, since only the owner/,
    )
    await other.close()
    expect(await known(warehouse)).toContain(word)
    expect(await forget(sandbox, warehouse, 1)).toMatchObject({ traces_left: null })
    expect(await known(warehouse)).not.toContain(word)
    await onServer(address.url, `drop owned by ${runner}`, `drop role ${runner}`)
  })

  it('forgets no statistics of a table that has rows', async () => {
    const { warehouse, type } = await begun()
    const { db } = warehouse
    const rows = async () => (await type('select 1 from shopsync.notes')).rows.length
    await type('analyze shopsync.notes')
    await forgetEmptyTable(db, 'shopsync', 'notes')
    expect(await known(warehouse)).toContain(word)
    expect(await rows()).toBe(300)
    await type('delete from shopsync.notes')
    await type('vacuum (analyze) shopsync.notes')
    expect(await known(warehouse)).toContain(word)
    await forgetEmptyTable(db, 'shopsync', 'notes')
    expect(await known(warehouse)).not.toContain(word)
    expect(await rows()).toBe(0)
  })
})
