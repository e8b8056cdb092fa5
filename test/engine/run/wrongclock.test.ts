/** The stories of wrongclock.txt. What alerts make of such a clock: features/alerts/incidents.txt. */
import { expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { isSearchDue } from '../../../src/engine/list/memory.js'
import { carryOut, lastOfJobs, readGauges, readRuns } from '../../support/harness/commands.js'
import { runJob } from '../../support/harness/runs.js'
import { lastTurns, rowsOf, startRun, type Warehouse } from '../../support/harness/warehouse.js'
import type { ListStory } from '../../support/world/liststory.js'
import { plain } from '../../support/world/stories.js'
import { later, timedStories } from '../../support/world/timedstories.js'

/** Records a run that doesn't end: it was killed. */
const kill = (warehouse: Warehouse, at: string, name = `killed-${at}`): Promise<unknown> => {
  const row = { run_id: name, mode: 'sync', job: 'mine', status: 'running', started_at: at }
  return warehouse.write([startRun(warehouse.db, row)])
}
const daysAgo = (days: string): string => later(-86_400 * Number(days))
/** Of the note: when its row was stored last. */
const stamp = async ({ list }: ListStory): Promise<string> =>
  String((await rowsOf(list.warehouse, 'notes'))[0]?._synced_at)
const stamped = new WeakMap<ListStory, string>()

await timedStories('test/engine/run/wrongclock.txt', {}, (clock) => ({
  killed: ({ list }) => kill(list.warehouse, fromMicros(clock.nowMicros())),
  'killed N days before': ({ list }, days) => kill(list.warehouse, daysAgo(days!), `killed-${days}`),
  'those killed': async ({ list }) => {
    const ids = (await rowsOf(list.warehouse, 'sync_runs')).map(({ run_id }) => String(run_id))
    return ids.filter((id) => id.startsWith('killed')).join(' ')
  },
  'job WORD[ planned N days before]': async ({ list }, name, days) => {
    const plan = { name: name!, steps: [], timeLimit: undefined, wait: 0, onFailure: 'continue' } as const
    const plannedAt = days === undefined ? undefined : daysAgo(days)
    const work = carryOut(list.sandbox, list.warehouse, (deps) => runJob(deps, { ...plan, plannedAt }), {
      clock: clock.skewed,
    })
    return work.then(({ job, status }) => `${job} ${status}`).catch((error: Error) => error.message)
  },
  runs: async ({ list: { warehouse } }) => {
    const question = { warehouse, last: 9, onlyFailed: false, tenants: null, resources: null }
    const runs = await readRuns({ ...question, nowMicros: clock.nowMicros() })
    const last = (await lastOfJobs(warehouse, ['mine'])).get('mine')?.status
    return `${runs.map(({ job, mode, status }) => `${job ?? mode} ${status}`).join(', ')}; the job is ${last}`
  },
  gauges: async ({ list: { warehouse } }) => {
    const limits = { staleAfterMs: 86_400_000, deletesUncheckedAfterMs: 3 * 86_400_000, maxTenants: 9 }
    const choice = { warehouse, resources: ['notes'], tenants: null, exceptTenants: [], ...limits }
    const { deletesUnchecked, states } = await readGauges({ ...choice, nowMicros: clock.nowMicros() })
    return plain({ deletesUnchecked, stale: states.get('stale'), ok: states.get('ok') })
  },
  'the stamp': async (story) => {
    const [before, now] = [stamped.get(story), await stamp(story)]
    stamped.set(story, now)
    if (before !== undefined) return now > before ? 'later than before' : 'earlier than before'
    return undefined
  },
  'sync customers': async ({ list }) => {
    await list.run({ resources: ['customers'] })
  },
  turns: async ({ list }) => {
    const turns = [...(await lastTurns(list.warehouse, 'sync'))]
    return turns
      .toSorted(([, a], [, b]) => (a < b ? -1 : 1))
      .map(([name]) => name)
      .join(', then ')
  },
  'idle runs were thinned up to next year': async ({ list: { warehouse } }) => {
    const ahead = warehouse.db.updateTable('sync_meta').set({ value: later(365 * 86_400) })
    const marks = ['history_thinned_to', 'history_pruned_on']
    await warehouse.write([ahead.where('name', 'in', marks).compile()])
  },
  'thinned up to': async ({ list }) => {
    const marks = await rowsOf(list.warehouse, 'sync_meta')
    return String(marks.find(({ name }) => name === 'history_thinned_to')?.value)
  },
}))

it.each([
  ['2026-03-03', true],
  ['2026-03-04', false],
  ['2027-03-04', true],
])('a list that was searched on %s is searched on 2026-03-04: %s', async (searchedOn, isDue) => {
  const memory = { surplus: { total: 2, shown: 1, searches: 1, searchedOn } }
  expect(await isSearchDue(memory, '2026-03-04', async () => 1)).toBe(isDue)
})
