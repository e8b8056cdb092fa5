/** The runs of shards, beside each other and beside who needs the whole warehouse. On Postgres. */
import { beforeEach, describe, expect, it } from 'vitest'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { type Sandbox, template } from '../../src/sandbox/index.js'
import { Leases } from '../support/harness/leases.js'
import { depsOf, type RunOptions, readHolders, readLastRun, runJob, sync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import {
  bothWarehouses,
  grantTenants,
  kept,
  lockHolder,
  migrate,
  openLease,
  RowSettings,
  reopen,
  rowsOf,
  type Warehouse,
} from '../support/harness/warehouse.js'

const postgres = bothWarehouses()[1]!
const hour = 3_600_000_000n
const notes = { resources: ['notes'] } satisfies RunOptions
let sandbox: Sandbox
let warehouse: Warehouse
let leases: Leases
const place = kept(postgres)
beforeEach(async () => {
  warehouse = await place.open()
  leases = new Leases(warehouse)
  sandbox = await sandboxOfFile()
  for (const id of [1, 2, 3, 4]) {
    sandbox.store.addTenant({ id })
    for (const resource of ['notes', 'statuses'])
      sandbox.store.put(id, resource, template(resource, 1, '2026-01-01T00:00:00Z'))
  }
})

describe('the runs of shards', () => {
  it('one of them asks who is granted, once an hour, and the others go by what it stored', async () => {
    const asked = (): number => {
      const { length } = sandbox.requests.filter(({ path }) => path.endsWith('/authorizations'))
      sandbox.resetRequests()
      return length
    }
    const run = (index: number) => sync(sandbox, warehouse, { ...notes, shard: { index, of: 2 } })
    const reports = [...(await Promise.all([run(0), run(1)])), await run(1)]
    expect(reports.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok'])
    expect(asked()).toBe(1)
    const mark = warehouse.db
      .updateTable('sync_meta')
      .set({ value: fromMicros(systemClock.nowMicros() - hour - 1_000_000n) })
      .where('name', '=', 'grants_asked_at')
    await warehouse.write([mark.compile()])
    await run(0)
    await run(1)
    expect(asked()).toBe(1)
    // Without shards, each run asks.
    await sync(sandbox, warehouse, notes)
    await sync(sandbox, warehouse, notes)
    expect(asked()).toBe(2)
    const runs = await rowsOf(warehouse, 'sync_runs')
    expect(runs).toContainEqual(expect.objectContaining({ shard: '1/2' }))
    expect(runs.filter(({ shard }) => shard === null)).toHaveLength(2)
    expect(new Set(runs.map(({ seq }) => seq)).size).toBe(runs.length)
  })

  it('an older answer does not replace a newer one', async () => {
    const row = (writable: boolean, _synced_at: string) => [
      ...grantTenants(warehouse.db, [{ tenant_id: 1, writable, _synced_at } as never]),
    ]
    const now = systemClock.nowMicros()
    const stamps = new Stamps(systemClock)
    await using _ = await openLease({ warehouse, clock: systemClock, stamps }, 'sync')
    await warehouse.write(row(true, fromMicros(now)))
    await warehouse.write(row(false, fromMicros(now - 1_000_000n)))
    const stored = async () => (await rowsOf(warehouse, 'tenants')).find(({ tenant_id }) => tenant_id === 1)
    expect(await stored()).toMatchObject({ writable: true })
    // A stamp that nobody can have given decides nothing.
    await warehouse.write(row(true, fromMicros(now + hour)))
    await warehouse.write(row(false, fromMicros(now)))
    expect(await stored()).toMatchObject({ writable: false })
  })

  it('end for a command that needs the whole warehouse: the page in hand is stored, the rest is skipped', async () => {
    let seen = 0
    const told: string[] = []
    const options: RunOptions = { concurrency: 1, leaseMs: 400, resources: ['notes', 'statuses'] }
    let forgetting: ReturnType<typeof openLease> | undefined
    sandbox.onRequest(async ({ resource }) => {
      if (resource !== 'notes' || ++seen > 1) return
      const observer = { waiting: (text: string) => told.push(text) }
      forgetting = openLease({ warehouse, clock: systemClock, observer }, 'forget')
      // Longer than a heartbeat: the wish is heard while the page is under way.
      await new Promise((resolve) => setTimeout(resolve, 600))
    })
    const report = await sync(sandbox, warehouse, { ...options, shard: { index: 0, of: 1 } })
    expect(report).toMatchObject({ reason: 'wanted' })
    expect(report.status).not.toBe('ok')
    const skipped = report.cursors.filter(({ status }) => status === 'skipped')
    expect(skipped.length).toBeGreaterThan(0)
    expect(skipped.every(({ reason }) => reason === 'wanted')).toBe(true)
    const lease = await forgetting!
    expect(told).toEqual([expect.stringContaining('has held shard 0/1 of ')])
    expect(await leases.row()).toMatchObject({ owner: lease.runId, wanted_at: null })
    const holders = await readHolders(warehouse.db, systemClock.nowMicros())
    expect(holders.map(({ command }) => command)).toEqual(['forget'])
    await lease[Symbol.asyncDispose]()
  })

  it('end for a job that waits for all of them, and not for one that does not wait', async () => {
    const clock = { ...systemClock, sleep: (ms: number) => systemClock.sleep(Math.min(ms, 100)) }
    const { deps, close } = await depsOf(sandbox, warehouse, { clock })
    const plan = { name: 'hourly', steps: [], timeLimit: undefined, onFailure: 'stop' } as const
    const shard = await leases.claim('0/2', { leaseMs: 400 })
    await expect(runJob(deps, { ...plan, wait: 0 })).rejects.toMatchObject({ exitCode: 4 })
    expect((await lockHolder(warehouse))?.wanted_at ?? null).toBeNull()
    const waiting = runJob(deps, { ...plan, wait: 60_000 })
    await new Promise((resolve) => shard.wanted.addEventListener('abort', resolve))
    await shard.release()
    expect(await waiting).toMatchObject({ job: 'hourly' })
    await close()
  })

  it('are no orphans while they have a lease, also when others begin beside them', async () => {
    await leases.claim('1/3', { runId: 'alive' })
    await leases.claim('2/3', { runId: 'killed' })
    const runs = ['alive', 'killed'].map((run_id) => ({ run_id, status: 'running', mode: 'sync' }))
    await warehouse.write([warehouse.db.insertInto('sync_runs').values(runs).compile()])
    await leases.expire('2/3')
    const statuses = async () => {
      const rows = await rowsOf(warehouse, 'sync_runs')
      return ['alive', 'killed'].map((id) => rows.find(({ run_id }) => run_id === id)?.status)
    }
    const run = (index: number) => sync(sandbox, warehouse, { ...notes, shard: { index, of: 3 } })
    await run(0)
    expect(await statuses()).toEqual(['running', 'running'])
    const holders = await readHolders(warehouse.db, systemClock.nowMicros())
    expect(holders.map(({ run_id }) => run_id)).toEqual(['alive'])
    expect(await readLastRun(warehouse.db, holders)).toMatchObject({ ended_without_a_word: false })
    await run(2)
    expect(await statuses()).toEqual(['running', 'interrupted'])
    await leases.release()
  })

  it('with other settings work beside each other, and say which differ', async () => {
    const start = async (zone: string): Promise<Warehouse> => {
      const rowSettings = new RowSettings(`{"program":"1","report.timeZone":"${zone}"}`)
      const one = await reopen({ ...place.address, rowSettings })
      await migrate(one)
      return one
    }
    const told: unknown[] = []
    const observer = { warning: (_: string, fields: unknown) => told.push(fields) }
    const [one, other] = [await start('utc'), await start('berlin')]
    const claim = (warehouse: Warehouse, index: number) =>
      openLease({ warehouse, clock: systemClock, shard: { index, of: 2 }, observer }, 'sync')
    const first = await claim(one, 0)
    const second = await claim(other, 1)
    expect(told).toEqual([{ settings: 'report.timeZone' }])
    await first[Symbol.asyncDispose]()
    // Beside nobody, the rule of every run holds.
    const third = await claim(one, 0)
    expect(told).toHaveLength(2)
    for (const lease of [second, third]) await lease[Symbol.asyncDispose]()
  })
})
