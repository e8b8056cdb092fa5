/** A job is one run: one lease, one row in sync_runs, and one row in sync_run_cursors per cursor and step. */

import { beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { carryOut, verifyStep, why } from '../../support/harness/commands.js'
import {
  begun,
  type JobPlan,
  type JobWork,
  type Mode,
  type RunOptions,
  type RunReport,
  runJob,
  runStep,
  type StepGiven,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { refusal } from '../../support/harness/server.js'
import {
  claimLease,
  kept,
  lastTurns,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { SkippingClock } from '../../support/world/clocks.js'

const resources = ['categories', 'notes']
const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
const put = (id: number): void => {
  for (const resource of resources)
    sandbox.store.put(1, resource, template(resource, id, `2026-01-0${id}T00:00:00Z`))
}
put(1)

const choice = { tenants: null, resources }
const asking = (carryOut: JobWork['carryOut']): JobWork => ({ asksSource: true, carryOut })
const does = (mode: Mode): JobWork =>
  asking(({ step, ...run }) => runStep(run, begun({ mode, job: 'mine', ...choice }), step))
const compares = asking(
  async (given) => (await verifyStep(given, 'mine', choice, { full: false, sample: 0 })).report,
)
const fails = (error: unknown): JobWork => asking(() => Promise.reject(error))
const nothing = (given: StepGiven, more: Partial<RunReport> = {}): RunReport => ({
  run_id: given.runId,
  job: 'mine',
  mode: 'snapshot',
  status: 'ok',
  reason: null,
  cursors: [],
  started_at: '',
  finished_at: '',
  requests: 0,
  rate_limited: 0,
  retries: 0,
  rows_upserted: 0,
  rows_deleted: 0,
  quarantined: 0,
  ...more,
})

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  /** How many steps that don't query the source had their turn. */
  let turns = 0
  beforeEach(async () => {
    warehouse = await place.open()
    turns = 0
  })

  const quiet = (more: Partial<RunReport> = {}): JobWork => ({
    asksSource: false,
    carryOut: async (given) => {
      turns++
      return nothing(given, more)
    },
  })
  type Planned = Partial<JobPlan> & { readonly options?: RunOptions }
  const run = (steps: readonly JobWork[], { options = {}, ...plan }: Planned = {}): Promise<RunReport> => {
    const usual = { name: 'mine', timeLimit: undefined, wait: 0, onFailure: 'continue' } as const
    return carryOut(sandbox, warehouse, (deps) => runJob(deps, { ...usual, ...plan, steps }), options)
  }
  /** Ids of runs within one second are in no order. */
  const lastRun = async () =>
    (await rowsOf(warehouse, 'sync_runs')).toSorted((a, b) => Number(a.seq) - Number(b.seq)).at(-1)
  const others = { exitCode: 4, message: expect.stringContaining('Another program already ran mine') }

  it('records one run, and each cursor in each step', async () => {
    const report = await run([does('sync'), does('reconcile'), compares])
    expect(report).toMatchObject({ job: 'mine', mode: 'job', status: 'ok', reason: null })
    const { run_id, requests } = report
    const row = { run_id, job: 'mine', mode: 'job', status: 'ok', requests }
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([row])
    const wanted = resources.flatMap((resource) =>
      ['sync', 'reconcile', 'verify'].map((mode, i) => ({ resource, step: i + 1, mode, status: 'ok' })),
    )
    expect(await rowsOf(warehouse, 'sync_run_cursors')).toMatchObject(wanted)
    expect(report.cursors.map(({ step }) => step)).toEqual([1, 1, 2, 2, 3, 3])
    expect((await rowsOf(warehouse, 'sync_lease'))[0]).toMatchObject({ owner: null, token: 1 })
    // Each step has its own turns: a limit that ends the syncs doesn't count those of the comparison.
    expect((await lastTurns(warehouse, 'reconcile')).has('1 notes')).toBe(true)
    expect((await lastTurns(warehouse, 'backfill')).size).toBe(0)
    const told = await why(sandbox, warehouse, { id: 1 })
    expect(told.rows[0]?.brought).toMatchObject({ run_id, mode: 'sync' })
  })

  it('does nothing for an instant that another program has covered, and everything if that run was cut short', async () => {
    const plannedAt = fromMicros(systemClock.nowMicros())
    await run([quiet()], { plannedAt })
    expect(await refusal(run([quiet()], { plannedAt }))).toMatchObject(others)
    expect([turns, (await rowsOf(warehouse, 'sync_runs')).length]).toEqual([1, 1])
    const runs = warehouse.db.updateTable('sync_runs').set({ status: 'interrupted' })
    await warehouse.write([runs.compile()])
    await run([quiet()], { plannedAt })
    await run([quiet()], { plannedAt: fromMicros(systemClock.nowMicros() + 1_000_000n) })
    expect(turns).toBe(3)
  })

  it.each([-1, 0, 1])(
    'makes each planned round once on machines whose clocks are %s hours ahead',
    async (hours) => {
      const nowMicros = () => systemClock.nowMicros() + BigInt(hours) * 3_600_000_000n
      const rounds = [-60, 0, 30].map((minutes) => ({
        options: { clock: { ...systemClock, nowMicros } },
        plannedAt: fromMicros(systemClock.nowMicros() + BigInt(minutes) * 60_000_000n),
      }))
      for (const one of rounds) await run([quiet()], one)
      for (const one of rounds) expect(await refusal(run([quiet()], one))).toMatchObject(others)
      expect(turns).toBe(3)
    },
  )

  it('runs a step that does not query the source even when the source is away, and fails as the source does', async () => {
    const away = new Stop('away', { exitCode: 3 })
    await run([does('sync')])
    const steps = [does('sync'), fails(away), does('sync'), quiet({ rows_upserted: 7 })]
    expect(await refusal(run(steps))).toBe(away)
    expect(turns).toBe(1)
    expect(await lastRun()).toMatchObject({ status: 'failed', error: 'away', rows_upserted: 7 })
    await refusal(run([fails(away), quiet()], { onFailure: 'stop' }))
    expect(turns).toBe(1)
  })

  it('has on record what a step had stored before it failed, and the steps after it', async () => {
    const options = { concurrency: 1 }
    sandbox.script([{ when: { resource: 'notes', nth: 1 }, fault: { kind: 'status', status: 401 } }])
    const steps = [does('sync'), quiet({ rows_upserted: 7 })]
    const error = await refusal(run(steps, { options }))
    sandbox.script([])
    expect(error).toMatchObject({ exitCode: 3 })
    // One category in the first step.
    expect(await lastRun()).toMatchObject({ status: 'failed', rows_upserted: 8 })
  })

  it('ends at its time limit, except for steps that do not query the source', async () => {
    const slow = asking(async (given) => {
      await new Promise((resolve) => given.signal.addEventListener('abort', resolve))
      return nothing(given)
    })
    const options = { clock: new SkippingClock() }
    const report = await run([slow, does('sync'), quiet()], { timeLimit: 60_000, options })
    expect(report).toMatchObject({ status: 'partial', reason: 'time_limit', cursors: [] })
    expect(turns).toBe(1)
    expect(await lastRun()).toMatchObject({ status: 'partial', reason: 'time_limit' })
  })

  it('waits for the run that holds the warehouse as long as configured, but no longer', async () => {
    const hold = () => claimLease(warehouse, { runId: 'other', command: 'sync', leaseMs: 60_000 })
    const clock = new SkippingClock()
    const lease = await hold()
    expect(await refusal(run([quiet()], { options: { clock } }))).toMatchObject({ exitCode: 4 })
    expect(clock.slept).toEqual([])
    await refusal(run([quiet()], { wait: 12_000, options: { clock } }))
    expect([clock.slept.length, turns]).toEqual([3, 0])
    const freeing = new SkippingClock()
    const sleep = freeing.sleep.bind(freeing)
    freeing.sleep = async (milliseconds, signal) => {
      await lease.release()
      await sleep(milliseconds, signal)
    }
    const waited = await run([quiet()], { wait: 60_000, options: { clock: freeing } })
    expect([waited.status, turns]).toEqual(['ok', 1])
    // A job that has started and loses the warehouse isn't started again.
    const lost = new Stop('lost', { exitCode: 4 })
    expect(await refusal(run([fails(lost)], { wait: 60_000, options: { clock } }))).toBe(lost)
    expect(clock.slept).toHaveLength(3)
  })

  it('ends after the current step when a signal comes, and reports it', async () => {
    const control = new AbortController()
    const told = asking(async (given) => {
      control.abort()
      return nothing(given)
    })
    const report = await run([told, quiet()], { options: { signal: control.signal } })
    expect(report).toMatchObject({ status: 'partial', reason: 'interrupted' })
    expect(turns).toBe(0)
    expect(await lastRun()).toMatchObject({ status: 'interrupted' })
  })
})
