/**
 * This machine's clock was a year ahead during one run, and is right again. Nothing that the run dated ahead makes the
 * warehouse look fresh, hides the run that came after it, or ages the history of runs.
 */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { isSearchDue } from '../../../src/engine/list/memory.js'
import { template } from '../../../src/sandbox/index.js'
import { carryOut, lastOfJobs, readGauges, readRuns } from '../../support/harness/commands.js'
import { type RunOptions, runJob, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { closeAll } from '../../support/harness/server.js'
import { statusOf, statusText } from '../../support/harness/status.js'
import {
  kept,
  lastTurns,
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
const { nowMicros: now } = systemClock
const yearAhead: Clock = { nowMicros: () => now() + 365n * dayMicros, sleep: systemClock.sleep }
const daysAgo = (days: number): string => fromMicros(now() - BigInt(days) * dayMicros)

/** A source that never sends its time. */
class Timeless extends Between {
  constructor(private readonly told: Source) {
    super(told, async (_request, ask) => ({ ...(await ask()), serverDate: undefined }))
  }

  override stats(): ReturnType<Source['stats']> {
    return { ...this.told.stats(), serverTime: undefined }
  }

  override tagged(): Source {
    return new Timeless(this.told.tagged())
  }
}

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })

  const run = (options: RunOptions = {}) => sync(sandbox, warehouse, { resources: ['notes'], ...options })
  const job = (name: string, { plannedAt, clock }: { plannedAt?: string; clock?: Clock } = {}) => {
    const plan = { name, steps: [], timeLimit: undefined, wait: 0, onFailure: 'continue' } as const
    return carryOut(
      sandbox,
      warehouse,
      (deps) => runJob(deps, { ...plan, plannedAt }),
      clock ? { clock } : {},
    )
  }
  /** Records a run that doesn't end: it was killed. */
  const kill = (at = fromMicros(now()), name = `killed-${at}`) => {
    const row = { run_id: name, mode: 'sync', job: 'mine', status: 'running', started_at: at }
    return warehouse.write([startRun(warehouse.db, row)])
  }
  const status = (nowMicros = now()) => statusOf(sandbox, warehouse, { nowMicros })

  it('status calls stale what it cannot know the age of, and names the run that was killed last', async () => {
    await run({ clock: yearAhead })
    await run({ mode: 'reconcile', clock: yearAhead })
    await kill()
    const report = await status()
    expect(report).toMatchObject({
      healthy: false,
      last_run: { job: 'mine', ended_without_a_word: true },
      cursors: [{ state: 'stale', age_seconds: null, deletes_unchecked: true }],
    })
    expect(statusText(report)).toMatch(
      /complete at 20.*ahead of this machine's clock: how long ago is unknown/,
    )
    const gauges = await readGauges({
      warehouse,
      resources: ['notes'],
      tenants: null,
      exceptTenants: [],
      maxTenants: 9,
      staleAfterMs: 86_400_000,
      deletesUncheckedAfterMs: 3 * 86_400_000,
      nowMicros: now(),
    })
    expect([gauges.deletesUnchecked, gauges.states.get('stale'), gauges.states.get('ok')]).toEqual([1, 1, 0])
    // The next run ends all of this.
    await run()
    await run({ mode: 'reconcile' })
    const after = { last_run: { mode: 'reconcile', status: 'ok' }, cursors: [{ deletes_unchecked: false }] }
    expect(await status()).toMatchObject({ healthy: true, ...after })
    // A clock that is a few seconds ahead, as another machine’s may be, makes nothing stale.
    const cursors = [{ state: 'ok', age_seconds: 0 }]
    expect(await status(now() - 20_000_000n)).toMatchObject({ healthy: true, cursors })
  })

  it('completeness under a wrong clock is not a claim', async () => {
    await run({ clock: yearAhead, around: (source) => new Timeless(source) })
    const [stored] = await rowsOf(warehouse, 'sync_cursors')
    expect(String(stored?.complete_through) > fromMicros(now())).toBe(true)
    expect((await status()).cursors).toMatchObject([{ complete_through: null }])
  })

  it('the last run is the one that was recorded last, wherever runs are shown', async () => {
    await job('mine', { clock: yearAhead })
    await run({ clock: yearAhead })
    await kill(daysAgo(1))
    const question = { warehouse, last: 9, onlyFailed: false, tenants: null, resources: null }
    const runs = await readRuns({ ...question, nowMicros: now() })
    expect(runs.map(({ job, mode, status }) => [job ?? mode, status])).toEqual([
      ['mine', 'interrupted'],
      ['sync', 'ok'],
      ['mine', 'ok'],
    ])
    expect((await lastOfJobs(warehouse, ['mine'])).get('mine')?.status).toBe('running')
  })

  it('a run after it shows its real duration, and its rows are stamped later than earlier ones', async () => {
    const stamp = async () => String((await rowsOf(warehouse, 'notes'))[0]?._synced_at)
    await run({ clock: yearAhead })
    let before = await stamp()
    for (let i = 0; i < 2; i++) {
      const started = fromMicros(now())
      const { finished_at } = await run({ full: true })
      expect(finished_at < fromMicros(now()) && finished_at > started).toBe(true)
      const after = await stamp()
      expect(after > before).toBe(true)
      before = after
    }
  })

  it('cursors take turns by the recorded runs, not by the times of a wrong clock', async () => {
    await run({ clock: yearAhead })
    await run({ resources: ['customers'] })
    const turns = await lastTurns(warehouse, 'sync')
    expect((turns.get('1 notes') ?? '') < (turns.get('1 customers') ?? '')).toBe(true)
  })

  it('a job by hand under a wrong clock has not run for the instants until then; a planned one has for its own', async () => {
    const plannedAt = daysAgo(1)
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
    for (const days of [40, 20, 0]) await kill(daysAgo(days), `past-${days}`)
    const expectKept = async (...names: readonly string[]): Promise<void> => {
      const ids = (await rowsOf(warehouse, 'sync_runs')).map(({ run_id }) => String(run_id))
      expect(ids.filter((id) => /past/.test(id)).sort()).toEqual(names)
    }
    await run({ clock: yearAhead, around })
    await expectKept('past-0', 'past-20', 'past-40')
    // What has become too old is removed, once the clock is right.
    await run({ historyKeepMs: 30 * 86_400_000, around })
    await expectKept('past-0', 'past-20')
  })

  it('idle runs are thinned again, although they were thinned up to next year', async () => {
    await run()
    const marks = ['history_thinned_to', 'history_pruned_on']
    const value = fromMicros(yearAhead.nowMicros())
    const ahead = warehouse.db.updateTable('sync_meta').set({ value })
    await warehouse.write([ahead.where('name', 'in', marks).compile()])
    await run()
    const thinned = (await rowsOf(warehouse, 'sync_meta')).find(({ name }) => name === marks[0])
    expect(String(thinned?.value) < fromMicros(now())).toBe(true)
  })

  it('alerts report the killed run, stale lists, and drift', async () => {
    const hook = await receiver()
    const told = (): string[] => hook.take().map(lineOf)
    const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    // The alerts use the same clock as the runs.
    const ahead = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    await ahead.pass(365)
    await ahead.run()
    // By that clock, the source answered a year ago.
    expect(told()).toEqual(['opened: deletes_unchecked 1/notes, deletes_unchecked 1/payments'])
    await kill()
    const changed = template('notes', 1, `2026-01-02T00:00:0${kind.name.length % 10}Z`)
    sandbox.store.put(1, 'notes', { ...changed, [`mood_${kind.name}`]: 'fine' })
    await world.run({ resources: ['notes'] })
    expect(told()).toEqual([
      'opened: drift 1/notes, failed run, stale 1/payments',
      'resolved: deletes_unchecked 1/notes, deletes_unchecked 1/payments, failed run',
    ])
    // Likewise after a run that was killed under the wrong clock.
    await world.run()
    told()
    await kill(fromMicros(yearAhead.nowMicros()))
    await world.run()
    expect(told()).toEqual(['opened: failed run', 'resolved: failed run'])
    // A run that can't begin also reports what was killed before it.
    await kill()
    const { url, partnerId } = sandbox
    await world.run({}, { url, partnerId, secret: 'wrong' })
    expect(hook.take().map(({ incidents }) => incidents.map(({ message }) => message.slice(0, 24)))).toEqual([
      [expect.stringMatching(/401|refused|GET/), 'The run before this one '],
    ])
  })
})

it.each([
  ['2026-03-03', true],
  ['2026-03-04', false],
  ['2027-03-04', true],
])('a list that was searched on %s is searched on 2026-03-04: %s', async (searchedOn, isDue) => {
  const memory = { surplus: { total: 2, shown: 1, searches: 1, searchedOn } }
  expect(await isSearchDue(memory, '2026-03-04', async () => 1)).toBe(isDue)
})
