/**
 * This machine's clock was a year ahead during one run, and is right again. Nothing that the run dated ahead makes the
 * warehouse look fresh, hides the run that came after it, or ages the history of runs.
 */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { isSearchDue } from '../../../src/engine/list/memory.js'
import { readGauges } from '../../../src/features/health/gauges.js'
import { statusText } from '../../../src/features/health/words.js'
import { lastOfJobs } from '../../../src/features/jobs/jobfiles.js'
import { readRuns } from '../../../src/features/runs/work.js'
import { template } from '../../../src/sandbox/index.js'
import { depsOf, type RunOptions, runJob, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { closeAll } from '../../support/harness/server.js'
import { statusOf } from '../../support/harness/status.js'
import {
  lastTurns,
  open,
  rowsOf,
  startRun,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, receiver, ruleOf } from '../../support/world/alerting.js'
import { Between } from '../../support/world/between.js'

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
sandbox.store.put(1, 'notes', template('notes', 1, '2026-01-01T00:00:00Z'))
afterAll(closeAll)

const dayMicros = 86_400_000_000n
const yearAhead: Clock = {
  nowMicros: () => systemClock.nowMicros() + 365n * dayMicros,
  sleep: systemClock.sleep,
}
const now = (): bigint => systemClock.nowMicros()
const daysAgo = (days: number): string => fromMicros(now() - BigInt(days) * dayMicros)

/** A source that never sends its time. */
class Timeless extends Between {
  constructor(private readonly told: Source) {
    super(told, async (_request, ask) => {
      const { serverDate: _date, ...page } = await ask()
      return { ...page, serverDate: undefined }
    })
  }

  override stats(): ReturnType<Source['stats']> {
    return { ...this.told.stats(), serverTime: undefined }
  }

  override tagged(): Source {
    return new Timeless(this.told.tagged())
  }
}

const run = (warehouse: Warehouse, options: RunOptions = {}) =>
  sync(sandbox, warehouse, { resources: ['notes'], ...options })

/** Records a run that doesn't end: it was killed. */
const kill = (warehouse: Warehouse, at = fromMicros(now())) =>
  warehouse.write([
    startRun(warehouse.db, {
      run_id: `killed-${at}`,
      mode: 'sync',
      job: 'mine',
      status: 'running',
      started_at: at,
    }),
  ])

const limits = { staleAfterMs: 86_400_000, deletesUncheckedAfterMs: 3 * 86_400_000 }
const whatever = { tenants: null, resources: null }

describe.each(warehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await open(kind)
    return () => warehouse.close()
  })

  it('status calls stale what it cannot know the age of, and names the run that was killed last', async () => {
    await run(warehouse, { clock: yearAhead })
    await run(warehouse, { mode: 'reconcile', clock: yearAhead })
    await kill(warehouse)
    const report = await statusOf(sandbox, warehouse, { nowMicros: now() })
    expect(report).toMatchObject({
      healthy: false,
      last_run: { job: 'mine', ended_without_a_word: true },
      cursors: [{ state: 'stale', age_seconds: null, deletes_unchecked: true }],
    })
    const text = statusText(report)
    expect(text).toMatch(/1 of 1 cursor stale or failing/)
    expect(text).toMatch(/died without reporting/)
    expect(text).toMatch(/complete at 20.*ahead of this machine's clock: how long ago is unknown/)
    const gauges = await readGauges({
      ...{ warehouse, resources: ['notes'], tenants: null, exceptTenants: [], maxTenants: 9, ...limits },
      nowMicros: now(),
    })
    expect(gauges).toMatchObject({ deletesUnchecked: 1 })
    expect([gauges.states.get('stale'), gauges.states.get('ok')]).toEqual([1, 0])

    // The next run ends all of this.
    await run(warehouse)
    await run(warehouse, { mode: 'reconcile' })
    expect(await statusOf(sandbox, warehouse, { nowMicros: now() })).toMatchObject({
      healthy: true,
      last_run: { mode: 'reconcile', status: 'ok' },
      cursors: [{ state: 'ok', deletes_unchecked: false }],
    })
  })

  it('a clock that is a few seconds ahead, as another machine’s may be, makes nothing stale', async () => {
    await run(warehouse)
    const report = await statusOf(sandbox, warehouse, { nowMicros: now() - 20_000_000n })
    expect(report).toMatchObject({ healthy: true, cursors: [{ state: 'ok', age_seconds: 0 }] })
  })

  it('completeness under a wrong clock is not a claim', async () => {
    await run(warehouse, { clock: yearAhead, around: (source) => new Timeless(source) })
    const [stored] = await rowsOf(warehouse, 'sync_cursors')
    expect(String(stored?.complete_through) > fromMicros(now())).toBe(true)
    const report = await statusOf(sandbox, warehouse, { nowMicros: now() })
    expect(report.cursors).toMatchObject([{ complete_through: null }])
  })

  it('the last run is the one that was recorded last, wherever runs are shown', async () => {
    const { deps, close } = await depsOf(sandbox, warehouse, { clock: yearAhead })
    const plan = { name: 'mine', steps: [], timeLimit: undefined, wait: 0, onFailure: 'continue' } as const
    await runJob(deps, plan)
    await close()
    await run(warehouse, { clock: yearAhead })
    await kill(warehouse, daysAgo(1))
    const runs = await readRuns({
      ...{ warehouse, last: 9, onlyFailed: false, ...whatever },
      nowMicros: now(),
    })
    expect(runs.map(({ job, mode, status }) => [job ?? mode, status])).toEqual([
      ['mine', 'interrupted'],
      ['sync', 'ok'],
      ['mine', 'ok'],
    ])
    expect((await lastOfJobs(warehouse, ['mine'])).get('mine')?.status).toBe('running')
  })

  it('a run after it shows its real duration, and its rows are stamped later than earlier ones', async () => {
    await run(warehouse, { clock: yearAhead })
    const stamp = async () => String((await rowsOf(warehouse, 'notes'))[0]?._synced_at)
    const ahead = await stamp()
    const started = now()
    const { finished_at } = await run(warehouse, { full: true })
    expect(finished_at < fromMicros(now()) && finished_at > fromMicros(started)).toBe(true)
    const again = await stamp()
    expect(again > ahead).toBe(true)
    await run(warehouse, { full: true })
    expect((await stamp()) > again).toBe(true)
  })

  it('cursors take turns by the recorded runs, not by the times of a wrong clock', async () => {
    const turn = (resource: string, clock?: Clock) =>
      run(warehouse, { resources: [resource], ...(clock && { clock }) })
    await turn('notes', yearAhead)
    await turn('customers')
    const turns = await lastTurns(warehouse, 'sync')
    const [notes, customers] = [turns.get('1 notes') ?? '', turns.get('1 customers') ?? '']
    expect(notes < customers).toBe(true)
  })

  it('a job by hand under a wrong clock has not run for the instants until then; a planned one has for its own', async () => {
    const plannedAt = daysAgo(1)
    const job = (name: string, more: { plannedAt?: string; clock?: Clock } = {}) =>
      depsOf(sandbox, warehouse, more.clock ? { clock: more.clock } : {}).then(async ({ deps, close }) => {
        const plan = { name, steps: [], timeLimit: undefined, wait: 0, onFailure: 'continue' } as const
        return runJob(deps, { ...plan, plannedAt: more.plannedAt }).finally(close)
      })
    await job('mine', { clock: yearAhead })
    expect(await job('mine', { plannedAt })).toMatchObject({ job: 'mine' })
    await expect(job('mine', { plannedAt })).rejects.toThrow('Another program already ran mine')
    await job('other', { plannedAt, clock: yearAhead })
    await expect(job('other', { plannedAt })).rejects.toThrow('Another program already ran other')
    expect(await job('other', { plannedAt: fromMicros(now()) })).toMatchObject({ job: 'other' })
  })

  it.each([
    ['by the source’s clock', (source: Source) => source],
    ['by the run before, where the source tells no time', (source: Source) => new Timeless(source)],
  ])('history keeps what is not old %s', async (_how, around) => {
    for (const days of [40, 20, 0]) {
      const at = daysAgo(days)
      const past = { run_id: `past-${days}`, mode: 'sync', status: 'running', started_at: at }
      await warehouse.write([startRun(warehouse.db, past)])
    }
    const kept = async () =>
      (await rowsOf(warehouse, 'sync_runs'))
        .map(({ run_id }) => String(run_id))
        .filter((id) => /past/.test(id))
    await run(warehouse, { clock: yearAhead, around })
    expect((await kept()).sort()).toEqual(['past-0', 'past-20', 'past-40'])
    // What has become too old is removed, once the clock is right.
    await run(warehouse, { historyKeepMs: 30 * 86_400_000, around })
    expect((await kept()).sort()).toEqual(['past-0', 'past-20'])
  })

  it('idle runs are thinned again, although they were thinned up to next year', async () => {
    const marks = () => rowsOf(warehouse, 'sync_meta')
    await run(warehouse)
    const ahead = fromMicros(yearAhead.nowMicros())
    await warehouse.write([
      warehouse.db
        .updateTable('sync_meta')
        .set({ value: ahead })
        .where('name', 'in', ['history_thinned_to', 'history_pruned_on'])
        .compile(),
    ])
    await run(warehouse)
    const thinned = (await marks()).find(({ name }) => name === 'history_thinned_to')
    expect(String(thinned?.value) < fromMicros(now())).toBe(true)
  })

  it('a list that was searched next year is searched today', async () => {
    const dueAfter = (searchedOn: string) =>
      isSearchDue({ surplus: { total: 2, shown: 1, searches: 1, searchedOn } }, '2026-03-04', async () => 1)
    expect(await Promise.all(['2026-03-03', '2026-03-04', '2027-03-04'].map(dueAfter))).toEqual([
      true,
      false,
      true,
    ])
  })

  it('alerts report the killed run, stale lists, and drift', async () => {
    const hook = await receiver()
    const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    // The alerts use the same clock as the runs.
    const ahead = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    await ahead.pass(365)
    await ahead.run()
    // By that clock, the source answered a year ago.
    expect(hook.take().map(lineOf)).toEqual([
      'opened: deletes_unchecked 1/notes, deletes_unchecked 1/payments',
    ])
    await kill(warehouse)
    const changed = template('notes', 1, `2026-01-02T00:00:0${kind.name.length % 10}Z`)
    sandbox.store.put(1, 'notes', { ...changed, [`mood_${kind.name}`]: 'fine' })
    await world.run({ resources: ['notes'] })
    expect(hook.take().map(lineOf)).toEqual([
      'opened: drift 1/notes, failed run, stale 1/payments',
      'resolved: deletes_unchecked 1/notes, deletes_unchecked 1/payments, failed run',
    ])
    // Likewise after a run that was killed under the wrong clock.
    await world.run()
    hook.take()
    await kill(warehouse, fromMicros(yearAhead.nowMicros()))
    await world.run()
    expect(hook.take().map(lineOf)).toEqual(['opened: failed run', 'resolved: failed run'])
    // A run that can't begin also reports what was killed before it.
    await world.run()
    hook.take()
    await kill(warehouse)
    const { url, partnerId } = sandbox
    await world.run({}, { url, partnerId, secret: 'wrong' })
    expect(hook.take().map(({ incidents }) => incidents.map(({ message }) => message.slice(0, 24)))).toEqual([
      [expect.stringMatching(/401|refused|GET/), 'The run before this one '],
    ])
  })
})
