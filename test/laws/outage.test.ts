/** The warehouse goes away in the middle of a run. */
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { startPostgres, type TestPostgres } from '../support/harness/postgres.js'
import { known, syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'
import { contents, migrate, openWarehouse, rowsOf, Warehouse } from '../support/harness/warehouse.js'
import { Between } from '../support/world/between.js'

const resources = ['notes', 'customers']
const records = 110
/** Six pages of each list. */
const pageSizes = [20]
const retryWaits = [0, 20, 100, 200, 500, 1000, 2000, 4000]
const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

const sandbox = await sandboxOfFile()
let wanted: unknown
const sqliteUrl = (): string => `sqlite:${join(scratch(), 'warehouse.db')}`

async function opened(url: string): Promise<Warehouse> {
  const warehouse = await openWarehouse({ url, schema: 'outage', model: known, retryWaits })
  await migrate(warehouse)
  return warehouse
}

beforeAll(async () => {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    for (let id = 1; id <= records; id++) sandbox.store.put(1, resource, template(resource, id, time(id)))
  const undisturbed = await opened(sqliteUrl())
  await syncInOrder(sandbox, undisturbed, { resources, pageSizes })
  wanted = await contents(undisturbed)
  await undisturbed.close()
})

/** A sync with something happening before each of its list requests. */
const harassed = (warehouse: Warehouse, harass: (n: number) => Promise<void>) => {
  let n = 0
  const around = (source: ConstructorParameters<typeof Between>[0]): Between =>
    new Between(source, async (_request, ask) => {
      await harass(++n)
      return ask()
    })
  return syncInOrder(sandbox, warehouse, { resources, pageSizes, around, concurrency: 2 })
}

describe('postgres', () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    // It confirms commits before they are on disk, unless a transaction asks for more.
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  async function fresh(): Promise<Warehouse> {
    const client = new pg.Client(postgres.url)
    await client.connect()
    await client.query('drop schema if exists outage cascade')
    await client.end()
    return opened(postgres.url)
  }

  /**
   * Every second transaction loses its connection after its last statement, so its commit can't succeed. The idle
   * connections are lost with it.
   */
  it('loses nothing when its connections are terminated again and again', async () => {
    const warehouse = await fresh()
    const admin = new pg.Client(postgres.url)
    await admin.connect()
    const connections = "from pg_stat_activity where application_name = 'shopsync'"
    let [begun, ended] = [0, 0]
    const { dialect } = warehouse
    const mortal: Warehouse['dialect'] = {
      ...dialect,
      transaction: (work) =>
        dialect.transaction(async (session) => {
          const isDue = ++begun % 2 === 0
          const result = await work(session)
          if (!isDue) return result
          const asked = sql<{ pid: number }>`select pg_backend_pid() as pid`.compile(dialect.db)
          const [own] = (await session.run(asked)).rows
          await admin.query('select pg_terminate_backend($1, 5000)', [own?.pid])
          await admin.query(`select pg_terminate_backend(pid) ${connections} and state = 'idle'`)
          ended++
          return result
        }),
    }
    const dying = new Warehouse({ dialect: mortal, model: known, retryWaits })
    const report = await harassed(dying, async () => {}).finally(() => admin.end())
    expect(ended).toBeGreaterThanOrEqual(15)
    expect(report.status).toBe('ok')
    expect(await contents(dying)).toEqual(wanted)
    await warehouse.close()
  })

  it('has what it confirmed after a crash; the run ends, and the next one continues', async () => {
    const warehouse = await fresh()
    const confirmed = async (): Promise<number[]> => {
      const rows = await Promise.all(resources.map((name) => rowsOf(warehouse, name)))
      return rows.map(({ length }) => length)
    }
    let before: number[] = []
    const run = harassed(warehouse, async (n) => {
      if (n !== 7) return
      before = await confirmed()
      await postgres.crash()
      await postgres.start()
    })
    await expect(run).rejects.toMatchObject({
      name: 'Stop',
      exitCode: 1,
      details: { code: 'warehouse_went_back' },
    })
    expect(Math.max(...before)).toBeGreaterThan(0)
    for (const [i, rows] of (await confirmed()).entries()) expect(rows).toBeGreaterThanOrEqual(before[i]!)
    expect((await rowsOf(warehouse, 'sync_runs'))[0]).toMatchObject({ reason: 'warehouse_went_back' })
    expect((await syncInOrder(sandbox, warehouse, { resources, pageSizes })).status).toBe('ok')
    expect(await contents(warehouse)).toEqual(wanted)
    await warehouse.close()
  })

  it.each([
    ['its port', () => postgres.url],
    ['a socket', () => `postgres:///postgres?host=${postgres.data}&port=${postgres.port}&user=postgres`],
  ])('by %s stops the run when it stays away, and the next one continues there', async (_by, url) => {
    await (await fresh()).close()
    const place = { url: url(), schema: 'outage', model: known }
    const warehouse = await openWarehouse({ ...place, retryWaits: [0, 10, 10] })
    await migrate(warehouse)
    const run = harassed(warehouse, async (n) => {
      if (n !== 7) return
      // On a fast machine, nothing of the run would be on disk yet.
      await sql`checkpoint`.execute(warehouse.db)
      await postgres.crash()
    })
    await expect(run).rejects.toMatchObject({ name: 'Stop', exitCode: 3 })
    await postgres.start()
    // This process is alive and must not be considered dead, as the one that crashed would be.
    const expired = warehouse.db.updateTable('sync_lease').set({ owner: null })
    await warehouse.write([expired.compile()])
    const before = (await rowsOf(warehouse, 'notes')).length
    expect(before).toBeGreaterThan(0)
    sandbox.resetRequests()
    const report = await syncInOrder(sandbox, warehouse, { resources, pageSizes })
    expect(report.status).toBe('ok')
    expect(await contents(warehouse)).toEqual(wanted)
    await warehouse.close()
  })
})

describe('sqlite', () => {
  it('is not held up by a reader with a long transaction, who keeps seeing the same rows', async () => {
    const url = sqliteUrl()
    const warehouse = await opened(url)
    const reader = new BetterSqlite3(url.slice('sqlite:'.length), { readonly: true })
    reader.exec('begin')
    const count = reader.prepare('select count(*) as n from notes')
    expect(count.get()).toEqual({ n: 0 })
    expect((await syncInOrder(sandbox, warehouse, { resources, pageSizes })).status).toBe('ok')
    expect(count.get()).toEqual({ n: 0 })
    reader.exec('commit')
    expect(count.get()).toEqual({ n: records })
    reader.close()
    expect(await contents(warehouse)).toEqual(wanted)
    await warehouse.close()
  })
})
