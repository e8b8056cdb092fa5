/**
 * The warehouse goes away, goes back to an earlier state, or is another one, in the middle of a run. A run whose warehouse
 * isn't what its last commit left ends before its next commit, and writes nothing into what is there now; one whose
 * warehouse comes back in time goes on. In the end, the warehouse is that of an undisturbed run.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dump } from '../support/harness/backup.js'
import { onServer } from '../support/harness/databases.js'
import type { Address } from '../support/harness/place.js'
import { startPostgres, type TestPostgres } from '../support/harness/postgres.js'
import { known, type RunReport, syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { sample } from '../support/harness/size.js'
import {
  bothWarehouses,
  claimLease,
  contents,
  migrate,
  open,
  reopen,
  rowsOf,
  sqliteBothWays,
  Warehouse,
} from '../support/harness/warehouse.js'
import { between } from '../support/world/between.js'
import { fill } from '../support/world/notes.js'
import { bury } from '../support/world/through.js'

const resources = ['notes', 'customers']
const records = 55
/** Six pages of each list. */
const options = { resources, pageSizes: [10] }
const wentBack = { name: 'Stop', exitCode: 1, details: { code: 'warehouse_went_back' } }
const [sqlite, postgres] = bothWarehouses()

const sandbox = await sandboxOfFile()
let wanted: unknown
beforeAll(async () => {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources) fill(sandbox, records, { resource })
  const undisturbed = await open(sqlite!)
  await syncInOrder(sandbox, undisturbed, options)
  wanted = await contents(undisturbed)
})

/** A sync, with something happening before each of its requests for a list. */
function disturbed(warehouse: Warehouse, happens: (n: number) => Promise<void> | void): Promise<RunReport> {
  let n = 0
  const around = between(async (_request, ask) => {
    await happens(++n)
    return ask()
  })
  return syncInOrder(sandbox, warehouse, { ...options, around })
}

async function ends(warehouse: Warehouse, happens: (n: number) => Promise<void> | void): Promise<void> {
  await expect(disturbed(warehouse, happens)).rejects.toMatchObject(wentBack)
}

/** The next run ends equal to the source. */
async function goOn(warehouse: Warehouse): Promise<void> {
  await bury(warehouse)
  const report = await syncInOrder(sandbox, warehouse, options)
  expect(report.status, JSON.stringify(report.cursors)).toBe('ok')
  expect(await contents(warehouse)).toEqual(wanted)
}

/** By another process. */
async function goOnAt(address: Address): Promise<void> {
  const warehouse = await reopen(address)
  await migrate(warehouse)
  await goOn(warehouse)
}

describe.each(bothWarehouses())('$name', (kind) => {
  const rewind = (warehouse: Warehouse, by: number): Promise<number> =>
    warehouse.write([
      warehouse.db
        .updateTable('sync_lease')
        .set((eb) => ({ token: eb('token', '-', by) }))
        .compile(),
    ])

  it.each<[what: string, happens: (warehouse: Warehouse) => Promise<unknown>]>([
    ['a lease of before', (warehouse) => rewind(warehouse, 1)],
    [
      'a lease that is gone with the beginning of the run',
      (warehouse) =>
        warehouse.write(
          ['sync_lease', 'sync_runs'].map((name) => warehouse.db.deleteFrom(name as 'tenants').compile()),
        ),
    ],
  ])('%s means that the warehouse went back, not that another run has taken over', async (_, happens) => {
    const warehouse = await open(kind)
    await ends(warehouse, async (n) => {
      if (n === 4) await happens(warehouse)
    })
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([
      { mode: 'sync', status: 'failed', reason: 'warehouse_went_back' },
    ])
    await goOn(warehouse)
  })

  it('so does a backup of before the run, restored between two commits', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    await syncInOrder(sandbox, warehouse, { ...options, resources: ['notes'] })
    const restore = await dump(address)
    await ends(warehouse, async (n) => {
      if (n === 4) await restore()
    })
    await warehouse.close()
    await goOnAt(address)
  })

  it('the heartbeat notices it, too', async () => {
    const warehouse = await open(kind)
    const lease = await claimLease(warehouse, { runId: 'beating', command: 'sync', leaseMs: 40 })
    await rewind(warehouse, 1)
    await new Promise((resolve) => lease.lost.addEventListener('abort', resolve))
    expect(lease.lost.reason).toMatchObject({ details: wentBack.details })
    await lease.release()
  })

  it('no token is given twice, even if the lease is that of before', async () => {
    const warehouse = await open(kind)
    const claim = async (runId: string): Promise<number> => {
      const lease = await claimLease(warehouse, { runId, command: 'sync', leaseMs: 60_000 })
      await lease.release()
      return Number(lease.fence.token)
    }
    const first = await claim('first')
    await rewind(warehouse, first)
    // A run keeps the token of its lease.
    const row = { run_id: 'known', mode: 'sync', status: 'ok', token: first + 5 }
    await warehouse.write([warehouse.db.insertInto('sync_runs').values(row).compile()])
    expect(await claim('second')).toBe(first + 6)
    await syncInOrder(sandbox, warehouse, { ...options, resources: ['notes'] })
    const tokens = (await rowsOf(warehouse, 'sync_runs')).map(({ token }) => Number(token))
    expect(Math.max(...tokens)).toBe(first + 7)
  })
})

describe('postgres', () => {
  /** Does something to the database of a warehouse, which nobody may be connected to. */
  async function apart(url: string, ...statements: string[]): Promise<void> {
    const server = new URL(url)
    const name = server.pathname.slice(1)
    server.pathname = '/postgres'
    const ended = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`
    const lock = (may: boolean): string => `alter database ${name} allow_connections ${may}`
    const named = statements.map((one) => one.replaceAll('NAME', name))
    await onServer(server.href, lock(false), ended, ...named, lock(true))
  }

  it('a database that a copy of earlier in the same run has replaced is another one', async () => {
    const address = await postgres!.migrated()
    const warehouse = await reopen(address)
    await ends(warehouse, async (n) => {
      if (n === 4) await apart(address.url, 'create database NAME_copy template NAME strategy file_copy')
      if (n === 7)
        await apart(
          address.url,
          'alter database NAME rename to NAME_gone',
          'alter database NAME_copy rename to NAME',
          'drop database NAME_gone',
        )
    })
    await warehouse.close()
    await goOnAt(address)
  })

  it('a role without any other right may ask which server it is', async () => {
    const address = await postgres!.migrated()
    const plain = new URL(address.url)
    const role = `${plain.pathname.slice(1)}_plain`
    await onServer(
      address.url,
      `create role ${role} login`,
      `grant usage on schema ${address.schema} to ${role}`,
      `grant select, insert, update, delete on all tables in schema ${address.schema} to ${role}`,
    )
    plain.username = role
    for (const pooler of [false, true]) {
      const warehouse = await reopen({ ...address, url: plain.href, pooler })
      const lease = await claimLease(warehouse, { runId: role, command: 'sync', leaseMs: 60_000 })
      expect(lease.fence.server).toMatch(/^\d+\.\d+ \d+ \d+$/)
      await warehouse.under(lease, role).write([])
      await lease.release()
    }
    await onServer(address.url, `drop owned by ${role}`, `drop role ${role}`)
  })
})

describe('a Postgres of its own', () => {
  let server: TestPostgres
  beforeAll(async () => {
    // It confirms commits before they are on disk, unless a transaction asks for more.
    server = await startPostgres()
  })
  afterAll(() => server.stop())

  const usual = [0, 20, 100, 200, 500, 1000, 2000, 4000]
  async function fresh(url = server.url, retryWaits = usual): Promise<Warehouse> {
    await onServer(server.url, 'drop schema if exists outage cascade')
    const warehouse = await reopen({ url, schema: 'outage', retryWaits })
    await migrate(warehouse)
    return warehouse
  }

  /**
   * Every second transaction loses its connection after its last statement, so its commit can't succeed. The idle
   * connections are lost with it.
   */
  it('loses nothing when its connections are terminated again and again', async () => {
    const warehouse = await fresh()
    const admin = new pg.Client(server.url)
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
    const dying = new Warehouse({ dialect: mortal, model: known, retryWaits: usual })
    const report = await disturbed(dying, () => {}).finally(() => admin.end())
    expect(ended).toBeGreaterThanOrEqual(15)
    expect(report.status).toBe('ok')
    expect(await contents(dying)).toEqual(wanted)
  })

  const confirmed = (warehouse: Warehouse): Promise<number[]> =>
    Promise.all(resources.map(async (name) => (await rowsOf(warehouse, name)).length))

  it('has what it confirmed after a crash; the run ends, and the next one continues', async () => {
    const warehouse = await fresh()
    let before: number[] = []
    await ends(warehouse, async (n) => {
      if (n !== 7) return
      before = await confirmed(warehouse)
      await server.crash()
      await server.start()
    })
    expect(Math.max(...before)).toBeGreaterThan(0)
    for (const [i, rows] of (await confirmed(warehouse)).entries())
      expect(rows).toBeGreaterThanOrEqual(before[i]!)
    expect((await rowsOf(warehouse, 'sync_runs'))[0]).toMatchObject({ reason: 'warehouse_went_back' })
    await goOn(warehouse)
  })

  // A client can't tell a socket's outage from that of a port but by the error.
  it.each(
    sample([
      ['a socket', () => `postgres:///postgres?host=${server.data}&port=${server.port}&user=postgres`],
      ['its port', () => server.url],
    ]),
  )('by %s stops the run when it stays away, and the next one continues there', async (_by, url) => {
    const warehouse = await fresh(url(), [0, 10, 10])
    const run = disturbed(warehouse, async (n) => {
      if (n !== 7) return
      // On a fast machine, nothing of the run would be on disk yet.
      await sql`checkpoint`.execute(warehouse.db)
      await server.crash()
    })
    await expect(run).rejects.toMatchObject({ name: 'Stop', exitCode: 3 })
    await server.start()
    await bury(warehouse)
    expect(Math.max(...(await confirmed(warehouse)))).toBeGreaterThan(0)
    await goOn(warehouse)
  })
})

describe('an SQLite file', () => {
  const other = (url: string, how?: BetterSqlite3.Options) => new BetterSqlite3(fileOf({ url }), how)

  it('is not held up by a reader with a long transaction, who keeps seeing the same rows', async () => {
    const address = await sqlite!.migrated()
    const reader = other(address.url, { readonly: true })
    reader.exec('begin')
    const count = reader.prepare('select count(*) as n from notes')
    expect(count.get()).toEqual({ n: 0 })
    await goOnAt(address)
    expect(count.get()).toEqual({ n: 0 })
    reader.exec('commit')
    expect(count.get()).toEqual({ n: records })
    reader.close()
  })

  it('that another program locks is waited for', async () => {
    const address = await sqlite!.migrated()
    const writer = other(address.url)
    const warehouse = await reopen(address)
    // While SQLite waits, this process can do nothing else, such as unlock it.
    await sql`pragma busy_timeout = 50`.execute(warehouse.db)
    let isFree = false
    const report = await disturbed(warehouse, (n) => {
      if (n !== 3) return
      writer.exec('begin immediate')
      setTimeout(() => {
        isFree = true
        writer.exec('commit')
        writer.close()
      }, 200)
    })
    expect([report.status, isFree]).toEqual(['ok', true])
    expect(await contents(warehouse)).toEqual(wanted)
  })
})

const fileOf = ({ url }: Pick<Address, 'url'>): string => url.slice('sqlite:'.length)

/** What may come into the place of the file; there is a backup of a moment ago. */
const others: Readonly<Record<string, (file: string, backup: string) => void>> = {
  'a backup of a moment ago': (file, backup) => renameSync(backup, file),
  'an empty file': (file, backup) => {
    writeFileSync(backup, '')
    renameSync(backup, file)
  },
  'a link to a backup': (file, backup) => {
    rmSync(file)
    symlinkSync(backup, file)
  },
  nothing: (file) => rmSync(file),
}

describe.each(sqliteBothWays())('%s', (_way, kind) => {
  it.each([
    ...Object.keys(others).map((what) => [what, 5] as const),
    // Before a writer thread opens it.
    ['a backup of a moment ago', 1] as const,
  ])('the file is replaced by %s, before request %i: nothing is written into that', async (what, at) => {
    const address = await kind.migrated()
    const file = fileOf(address)
    // To compare two megabytes takes vitest seconds.
    const content = () =>
      existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : undefined
    const warehouse = await reopen(address)
    let before: string | undefined
    await ends(warehouse, async (n) => {
      if (n !== at) return
      await dump(address)
      others[what]!(file, `${file}.dump`)
      before = content()
    })
    await warehouse.close()
    expect(content()).toEqual(before)
    await goOnAt(address)
  })
})
