/** A job is one run: one lease, one row in sync_runs, and one row in sync_run_cursors per cursor and step. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { verifyStep } from '../../../src/features/reconcile/verifywork.js'
import { tellWhy } from '../../../src/features/why/work.js'
import { template } from '../../../src/sandbox/index.js'
import {
  depsOf,
  type JobPlan,
  type JobWork,
  known,
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
  type Lease,
  lastTurns,
  open,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { begun } from '../../support/world/begins.js'
import { SkippingClock } from '../../support/world/clocks.js'

const resources = ['categories', 'notes']
const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
for (const resource of resources)
  sandbox.store.put(1, resource, template(resource, 1, '2026-01-01T00:00:00Z'))

const choice = { tenants: null, resources }
const does = (mode: Mode): JobWork => ({
  asksSource: true,
  carryOut: ({ step, ...run }) => runStep(run, begun({ mode, job: 'mine', ...choice }), step),
})
const compares: JobWork = {
  asksSource: true,
  carryOut: async (given) => (await verifyStep(given, 'mine', choice, { full: false, sample: 0 })).report,
}
const nothing = (given: StepGiven, more: Partial<RunReport> = {}): RunReport => ({
  ...{
    run_id: given.runId,
    job: 'mine',
    mode: 'snapshot',
    status: 'ok',
    reason: null,
    cursors: [],
  },
  ...{ started_at: '', finished_at: '', requests: 0, rate_limited: 0, retries: 0 },
  ...{ rows_upserted: 0, rows_deleted: 0, quarantined: 0 },
  ...more,
})
/** A step that doesn't query the source and notes that it had its turn. */
const quiet = (turns: string[], more: Partial<RunReport> = {}): JobWork => ({
  asksSource: false,
  carryOut: async (given) => {
    turns.push('quiet')
    return nothing(given, more)
  },
})
const fails = (error: unknown): JobWork => ({
  asksSource: true,
  carryOut: () => Promise.reject(error),
})

let before = new Set<string>()

async function run(
  warehouse: Warehouse,
  steps: readonly JobWork[],
  { options, ...plan }: Partial<JobPlan> & { options?: RunOptions } = {},
): Promise<RunReport> {
  const { deps, close } = await depsOf(sandbox, warehouse, options)
  before = new Set((await rowsOf(warehouse, 'sync_runs')).map(({ run_id }) => String(run_id)))
  const usual = { name: 'mine', timeLimit: undefined, wait: 0, onFailure: 'continue' } as const
  try {
    return await runJob(deps, { ...usual, ...plan, steps })
  } finally {
    await close()
  }
}

describe.each(warehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind)
  })
  afterAll(() => warehouse.close())
  /** The most recent run's row. */
  const lastRun = async () =>
    (await rowsOf(warehouse, 'sync_runs')).find(({ run_id }) => !before.has(String(run_id)))

  it('records one run, and each cursor in each step', async () => {
    const report = await run(warehouse, [does('sync'), does('reconcile'), compares])
    expect(report).toMatchObject({ job: 'mine', mode: 'job', status: 'ok', reason: null })
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([
      { run_id: report.run_id, job: 'mine', mode: 'job', status: 'ok', requests: report.requests },
    ])
    const wanted = resources.flatMap((resource) =>
      ['sync', 'reconcile', 'verify'].map((mode, i) => ({ resource, step: i + 1, mode, status: 'ok' })),
    )
    expect(await rowsOf(warehouse, 'sync_run_cursors')).toMatchObject(wanted)
    expect(report.cursors.map(({ step }) => step)).toEqual([1, 1, 2, 2, 3, 3])
    expect((await rowsOf(warehouse, 'sync_lease'))[0]).toMatchObject({ owner: null, token: 1 })
    // Each step has its own turns: a limit that ends the syncs doesn't count those of the comparison.
    expect((await lastTurns(warehouse, 'reconcile')).has('1 notes')).toBe(true)
    expect((await lastTurns(warehouse, 'backfill')).size).toBe(0)
    const { deps, close } = await depsOf(sandbox, warehouse)
    const why = await tellWhy({ ...deps, model: known }, { table: 'notes', id: '1', tenants: null })
    expect(why.rows[0]?.brought).toMatchObject({ run_id: report.run_id, mode: 'sync' })
    await close()
  })

  it('continues after a failed step, or stops there, as configured', async () => {
    for (const onFailure of ['continue', 'stop'] as const) {
      const turns: string[] = []
      const steps = [quiet(turns, { status: 'partial' }), quiet(turns)]
      const report = await run(warehouse, steps, { onFailure })
      expect([report.status, turns.length]).toEqual(['partial', onFailure === 'stop' ? 1 : 2])
    }
  })

  it('does nothing for an instant that another program has covered, and everything if that run was cut short', async () => {
    const turns: string[] = []
    const plannedAt = fromMicros(systemClock.nowMicros())
    await run(warehouse, [quiet(turns)], { plannedAt })
    const again = await refusal(run(warehouse, [quiet(turns)], { plannedAt }))
    expect(again).toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('Another program already ran mine'),
    })
    expect([turns.length, await lastRun()]).toEqual([1, undefined])
    const runs = warehouse.db.updateTable('sync_runs').where('job', '=', 'mine')
    await warehouse.write([runs.set({ status: 'interrupted' }).compile()])
    await run(warehouse, [quiet(turns)], { plannedAt })
    const later = fromMicros(systemClock.nowMicros() + 1_000_000n)
    await run(warehouse, [quiet(turns)], { plannedAt: later })
    expect(turns.length).toBe(3)
  })

  it.each([-1, 0, 1])(
    'makes each planned round once on machines whose clocks are %s hours ahead',
    async (hours) => {
      const turns: string[] = []
      const clock = {
        ...systemClock,
        nowMicros: () => systemClock.nowMicros() + BigInt(hours) * 3_600_000_000n,
      }
      const round = (minutes: number) => ({
        options: { clock },
        plannedAt: fromMicros(systemClock.nowMicros() + BigInt(minutes) * 60_000_000n),
      })
      const rounds = [round(-60), round(0), round(30)]
      for (const one of rounds) await run(warehouse, [quiet(turns)], one)
      expect(turns.length).toBe(3)
      for (const one of rounds)
        expect(await refusal(run(warehouse, [quiet(turns)], one))).toMatchObject({ exitCode: 4 })
      expect(turns.length).toBe(3)
    },
  )

  it('runs a step that does not query the source even when the source is away, and fails as the source does', async () => {
    const away = new Stop('away', { exitCode: 3 })
    await run(warehouse, [does('sync')])
    const turns: string[] = []
    const steps = [does('sync'), fails(away), does('sync'), quiet(turns, { rows_upserted: 7 })]
    expect(await refusal(run(warehouse, steps))).toBe(away)
    expect(turns).toEqual(['quiet'])
    expect(await lastRun()).toMatchObject({ status: 'failed', error: 'away', rows_upserted: 7 })
    const taken = turns.length
    await refusal(run(warehouse, [fails(away), quiet(turns)], { onFailure: 'stop' }))
    expect(turns.length).toBe(taken)
  })

  it('has on record what a step had stored before it failed, and the steps after it', async () => {
    for (const resource of resources)
      sandbox.store.put(1, resource, template(resource, 2, '2026-01-02T00:00:00Z'))
    sandbox.script([{ when: { resource: 'notes', nth: 1 }, fault: { kind: 'status', status: 401 } }])
    const options = { concurrency: 1 }
    const error = await refusal(run(warehouse, [does('sync'), quiet([], { rows_upserted: 7 })], { options }))
    sandbox.script([])
    expect(error).toMatchObject({ exitCode: 3 })
    // One category in the first step.
    expect(await lastRun()).toMatchObject({ status: 'failed', rows_upserted: 8 })
  })

  it('ends at its time limit, except for steps that do not query the source', async () => {
    const clock = new SkippingClock()
    const turns: string[] = []
    const slow: JobWork = {
      asksSource: true,
      carryOut: async (given) => {
        await new Promise<void>((resolve) => {
          given.signal.addEventListener('abort', () => resolve())
        })
        return nothing(given)
      },
    }
    const report = await run(warehouse, [slow, does('sync'), quiet(turns)], {
      timeLimit: 60_000,
      options: { clock },
    })
    expect(report).toMatchObject({ status: 'partial', reason: 'time_limit', cursors: [] })
    expect(turns).toEqual(['quiet'])
    expect(await lastRun()).toMatchObject({ status: 'partial', reason: 'time_limit' })
  })

  it('waits for the run that holds the warehouse as long as configured, but no longer', async () => {
    const hold = (): Promise<Lease> =>
      claimLease(warehouse, { runId: 'other', command: 'sync', leaseMs: 60_000 })
    const clock = new SkippingClock()
    let lease = await hold()
    const turns: string[] = []
    expect(await refusal(run(warehouse, [quiet(turns)], { options: { clock } }))).toMatchObject({
      exitCode: 4,
    })
    expect(clock.slept).toEqual([])
    await refusal(run(warehouse, [quiet(turns)], { wait: 12_000, options: { clock } }))
    expect(clock.slept).toHaveLength(3)
    expect(turns).toEqual([])
    const freeing = new SkippingClock()
    const sleep = freeing.sleep.bind(freeing)
    freeing.sleep = async (milliseconds, signal) => {
      await lease.release()
      await sleep(milliseconds, signal)
    }
    expect(await run(warehouse, [quiet(turns)], { wait: 60_000, options: { clock: freeing } })).toMatchObject(
      {
        status: 'ok',
      },
    )
    // A job that has started and loses the warehouse isn't started again.
    lease = await hold()
    await lease.release()
    const lost = new Stop('lost', { exitCode: 4 })
    const slept = clock.slept.length
    expect(await refusal(run(warehouse, [fails(lost)], { wait: 60_000, options: { clock } }))).toBe(lost)
    expect(clock.slept).toHaveLength(slept)
  })

  it('ends after the current step when a signal comes, and reports it', async () => {
    const turns: string[] = []
    const control = new AbortController()
    const told: JobWork = {
      asksSource: true,
      carryOut: async (given) => {
        control.abort()
        return nothing(given)
      },
    }
    const report = await run(warehouse, [told, quiet(turns)], { options: { signal: control.signal } })
    expect(report).toMatchObject({ status: 'partial', reason: 'interrupted' })
    expect(turns).toEqual([])
    expect(await lastRun()).toMatchObject({ status: 'interrupted' })
  })
})
