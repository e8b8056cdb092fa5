/** The stories of timelimit.txt. */
import { systemClock } from '../../../src/engine/base/clock.js'
import { timeLimit } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { lastTurns } from '../../support/harness/warehouse.js'
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
    'run WORD has read notes at WORD': async ({ warehouse }, run_id = '', started_at = '') => {
      const { db } = warehouse
      const turn = { run_id, tenant_id: 1, resource: 'notes', step: 1, requests: 1, started_at }
      await warehouse.write([
        db.insertInto('sync_runs').values({ run_id, mode: 'sync', started_at }).compile(),
        db.insertInto('sync_run_cursors').values(turn).compile(),
      ])
    },
    'last turn': async ({ warehouse }) => [...(await lastTurns(warehouse, 'sync')).values()].join(' / '),
  },
)
