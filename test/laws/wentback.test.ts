/**
 * The warehouse goes back to an earlier state, or is another one, in the middle of a run: the run notices before its next
 * commit, ends, and writes nothing into what is there now. The next run continues from what is stored.
 */
import {
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { dump } from '../support/harness/backup.js'
import { onServer } from '../support/harness/databases.js'
import type { Address } from '../support/harness/place.js'
import { type sync, syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import {
  bothWarehouses,
  claimLease,
  contents,
  describeBothWays,
  migrate,
  open,
  reopen,
  rowsOf,
  type Warehouse,
} from '../support/harness/warehouse.js'
import { Between } from '../support/world/between.js'

const resources = ['notes', 'customers']
/** Four pages of each list. */
const pageSizes = [20]
const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

const sandbox = await sandboxOfFile()
let wanted: unknown
beforeAll(async () => {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    for (let id = 1; id <= 70; id++) sandbox.store.put(1, resource, template(resource, id, time(id)))
  const [sqlite] = bothWarehouses()
  const undisturbed = await open(sqlite!)
  await syncInOrder(sandbox, undisturbed, { resources, pageSizes })
  wanted = await contents(undisturbed)
  await undisturbed.close()
})

/** A sync that is expected to end because the warehouse went back, with something happening before a list request. */
async function disturbed(
  warehouse: Warehouse,
  happens: (n: number) => Promise<void> | void,
  more: Parameters<typeof sync>[2] = {},
): Promise<void> {
  let n = 0
  const around = (source: ConstructorParameters<typeof Between>[0]): Between =>
    new Between(source, async (_request, ask) => {
      await happens(++n)
      return ask()
    })
  const error = await syncInOrder(sandbox, warehouse, { resources, pageSizes, around, ...more }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ name: 'Stop', exitCode: 1, details: { code: 'warehouse_went_back' } })
}

/** The next run, by another process, ends equal to the source. */
async function goOn(address: Address): Promise<void> {
  const warehouse = await reopen(address)
  await migrate(warehouse)
  // A backup that was made during a run has its lease, and this process is alive.
  await warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])
  const report = await syncInOrder(sandbox, warehouse, { resources, pageSizes })
  expect(report.status, JSON.stringify(report.cursors)).toBe('ok')
  expect(await contents(warehouse)).toEqual(wanted)
  await warehouse.close()
}

describe.each(bothWarehouses())('$name', (kind) => {
  const rewind = (warehouse: Warehouse, by: number): Promise<number> =>
    warehouse.write([
      warehouse.db
        .updateTable('sync_lease')
        .set((eb) => ({ token: eb('token', '-', by) }))
        .compile(),
    ])

  it('a lease of before means that the warehouse went back, not that another run has taken over', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    await disturbed(warehouse, async (n) => {
      if (n === 4) await rewind(warehouse, 1)
    })
    const [run] = await rowsOf(warehouse, 'sync_runs')
    expect(run).toMatchObject({ status: 'failed', reason: 'warehouse_went_back' })
    await warehouse.close()
    await goOn(address)
  })

  it('so does a lease that is gone; the run is on record although its beginning is lost', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    const { db } = warehouse
    await disturbed(warehouse, async (n) => {
      if (n !== 4) return
      await warehouse.write([db.deleteFrom('sync_lease').compile(), db.deleteFrom('sync_runs').compile()])
    })
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([
      { mode: 'sync', status: 'failed', reason: 'warehouse_went_back' },
    ])
    await warehouse.close()
    await goOn(address)
  })

  it('so does a backup of before the run, restored between two commits', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    await syncInOrder(sandbox, warehouse, { resources: ['notes'], pageSizes })
    const restore = await dump(address)
    await disturbed(warehouse, async (n) => {
      if (n === 4) await restore()
    })
    await warehouse.close()
    await goOn(address)
  })

  it('the heartbeat notices it, too', async () => {
    const warehouse = await open(kind)
    const lease = await claimLease(warehouse, { runId: 'beating', command: 'sync', leaseMs: 40 })
    await rewind(warehouse, 1)
    await new Promise((resolve) => lease.lost.addEventListener('abort', resolve))
    expect(lease.lost.reason).toMatchObject({ details: { code: 'warehouse_went_back' } })
    await lease.release()
    await warehouse.close()
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
    const { db } = warehouse
    const row = { run_id: 'known', mode: 'sync', status: 'ok', token: first + 5 }
    await warehouse.write([db.insertInto('sync_runs').values(row).compile()])
    expect(await claim('second')).toBe(first + 6)
    await syncInOrder(sandbox, warehouse, { resources, pageSizes })
    const tokens = (await rowsOf(warehouse, 'sync_runs')).map(({ token }) => Number(token))
    expect(Math.max(...tokens)).toBe(first + 7)
    await warehouse.close()
  })
})

describe('postgres', () => {
  const [, postgres] = bothWarehouses()

  /** Does something to the database of a warehouse, which nobody may be connected to. */
  async function apart(url: string, ...statements: string[]): Promise<void> {
    const { pathname } = new URL(url)
    const name = pathname.slice(1)
    const server = new URL(url)
    server.pathname = '/postgres'
    const ended = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`
    const lock = (may: boolean): string => `alter database ${name} allow_connections ${may}`
    await onServer(
      server.href,
      lock(false),
      ended,
      ...statements.map((one) => one.replaceAll('NAME', name)),
      lock(true),
    )
  }

  it('a database that a copy of earlier in the same run has replaced is another one', async () => {
    const address = await postgres!.migrated()
    const warehouse = await reopen(address)
    await disturbed(warehouse, async (n) => {
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
    await goOn(address)
  })

  it('a role without any other right may ask which server it is', async () => {
    const address = await postgres!.migrated()
    const { pathname } = new URL(address.url)
    const role = `${pathname.slice(1)}_plain`
    await onServer(
      address.url,
      `create role ${role} login`,
      `grant usage on schema ${address.schema} to ${role}`,
      `grant select, insert, update, delete on all tables in schema ${address.schema} to ${role}`,
    )
    const plain = new URL(address.url)
    plain.username = role
    for (const pooler of [false, true]) {
      const warehouse = await reopen({ ...address, url: plain.href, pooler })
      const lease = await claimLease(warehouse, { runId: role, command: 'sync', leaseMs: 60_000 })
      expect(lease.fence.server).toMatch(/^\d+\.\d+ \d+ \d+$/)
      await warehouse.under(lease, role).write([])
      await lease.release()
      await warehouse.close()
    }
    await onServer(address.url, `drop owned by ${role}`, `drop role ${role}`)
  })
})

describeBothWays((kind) => {
  if (kind.name !== 'sqlite') return it('has no file', () => {})

  const fileOf = ({ url }: Address): string => url.slice('sqlite:'.length)
  it.each<[how: string, put: (file: string, backup: string) => void]>([
    ['a backup of a moment ago', (file, backup) => renameSync(backup, file)],
    [
      'an empty file',
      (file) => {
        writeFileSync(`${file}.empty`, '')
        renameSync(`${file}.empty`, file)
      },
    ],
    [
      'a link to a backup',
      (file, backup) => {
        rmSync(file)
        symlinkSync(backup, file)
      },
    ],
  ])('the file is replaced by %s: nothing is written into it', async (_how, put) => {
    const address = await kind.migrated()
    const file = fileOf(address)
    const warehouse = await reopen(address)
    let there = Buffer.from('')
    await disturbed(warehouse, async (n) => {
      if (n !== 5) return
      await dump(address)
      put(file, `${file}.dump`)
      there = readFileSync(file)
    })
    await warehouse.close()
    expect(readFileSync(file).equals(there)).toBe(true)
    await goOn(address)
  })

  it('the file is removed: it is not made again', async () => {
    const address = await kind.migrated()
    const file = fileOf(address)
    const warehouse = await reopen(address)
    await disturbed(warehouse, (n) => {
      if (n === 5) rmSync(file)
    })
    await warehouse.close()
    expect(existsSync(file)).toBe(false)
    await goOn(address)
  })

  it('a file that is replaced before a writer thread opens it is not written to', async () => {
    const address = await kind.migrated()
    const file = fileOf(address)
    const other = await kind.migrated()
    const warehouse = await reopen(address)
    let there = Buffer.from('')
    await disturbed(warehouse, (n) => {
      if (n !== 1) return
      copyFileSync(fileOf(other), join(file, '../other.db'))
      renameSync(join(file, '../other.db'), file)
      there = readFileSync(file)
    })
    await warehouse.close()
    expect(readFileSync(file).equals(there)).toBe(true)
  })
})
