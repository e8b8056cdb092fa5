/** The stories of timelimit.txt, and whose turn was last. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { timeLimit } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, lastTurns, warehouses } from '../../support/harness/warehouse.js'
import { between } from '../../support/world/between.js'
import { runStories } from '../../support/world/runstory.js'
import { fieldsOf, wordsOf } from '../../support/world/stories.js'

/** A run whose time is up after this many answered list requests. */
function limited(answers: number) {
  let end = (): void => {}
  const over = new Promise<void>((resolve) => {
    end = resolve
  })
  let asked = 0
  const around = between(async (_request, ask) => {
    const answer = await ask()
    if (++asked === answers) {
      end()
      await new Promise(setImmediate)
    }
    return answer
  })
  const clock = { ...systemClock, sleep: () => over }
  const limit = timeLimit(1, { clock, signal: new AbortController().signal })
  return Object.assign(limit, { around })
}

runStories(
  'test/engine/run/timelimit.txt',
  await sandboxOfFile(),
  { resources: ['appointments', 'categories', 'customers', 'notes', 'statuses', 'vehicles'] },
  {
    'run until answer N(.*)': async (story, answers, how) => {
      using limit = limited(Number(answers))
      const { around, signal, timeLimited } = limit
      return await story.run({ around, signal, timeLimited, ...fieldsOf(wordsOf(how!)) })
    },
  },
)

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)

  it('of two runs within one second, the later one had the last turn, whatever their ids', async () => {
    const warehouse = await place.open()
    const { db } = warehouse
    for (const [run_id, at] of [
      ['20260101T000000-ffffff', '2026-01-01T00:00:00.100000Z'],
      ['20260101T000000-000000', '2026-01-01T00:00:00.200000Z'],
    ] as const) {
      const end = { run_id, tenant_id: 1, resource: 'notes', step: 1, requests: 1, started_at: at }
      await warehouse.write([
        db.insertInto('sync_runs').values({ run_id, mode: 'sync', started_at: at }).compile(),
        db.insertInto('sync_run_cursors').values(end).compile(),
      ])
    }
    const [turn] = (await lastTurns(warehouse, 'sync')).values()
    expect(turn).toMatch(/ 2026-01-01T00:00:00.200000Z$/)
  })
})
