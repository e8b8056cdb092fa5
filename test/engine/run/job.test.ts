/** The stories of job.txt. */
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { carryOut, verifyStep, why } from '../../support/harness/commands.js'
import {
  begun,
  type JobWork,
  type Mode,
  type RunReport,
  runJob,
  runStep,
  type StepGiven,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { claimLease, type Lease, lastTurns, rowsOf } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { type RunStory, runStories, stopped } from '../../support/world/runstory.js'
import { fieldsOf, wordsOf } from '../../support/world/stories.js'

const noon = BigInt(Date.parse('2026-03-02T12:00:00Z')) * 1000n
const clock = new HandClock('2026-03-02T12:00:00Z')
const sandbox = await sandboxOfFile({ data: 'none', clock })
const choice = { tenants: null, resources: ['categories', 'notes'] }
/** Minutes from noon. */
const at = (minutes: number): string => fromMicros(noon + BigInt(minutes) * 60_000_000n)

const nothing = ({ runId }: StepGiven, rows = 0): RunReport => {
  const counts = { requests: 0, rate_limited: 0, retries: 0, rows_deleted: 0, quarantined: 0 }
  const run = { run_id: runId, job: 'mine', mode: 'snapshot', started_at: '', finished_at: '' } as const
  return { ...run, status: 'ok', reason: null, cursors: [], ...counts, rows_upserted: rows }
}

let control = new AbortController()
/** How many steps that don't query the source had their turn. */
let turns = 0
let lease: Lease | undefined

const asking = (carryOut: JobWork['carryOut']): JobWork => ({ asksSource: true, carryOut })
const does = (mode: Mode): JobWork =>
  asking(({ step, ...run }) => runStep(run, begun({ mode, job: 'mine', ...choice }), step))
const quiet = (rows: number): JobWork => ({
  asksSource: false,
  carryOut: async (given) => {
    turns++
    return nothing(given, rows)
  },
})
const steps: Readonly<Record<string, JobWork>> = {
  sync: does('sync'),
  reconcile: does('reconcile'),
  verify: asking(
    async (given) => (await verifyStep(given, 'mine', choice, { full: false, sample: 0 })).report,
  ),
  quiet: quiet(0),
  'quiet-7-rows': quiet(7),
  away: asking(() => Promise.reject(new Stop('away', { exitCode: 3 }))),
  'loses-the-warehouse': asking(() => Promise.reject(new Stop('lost', { exitCode: 4 }))),
  slow: asking(async (given) => {
    await new Promise((resolve) => given.signal.addEventListener('abort', resolve))
    return nothing(given)
  }),
  'is-told-to-end': asking(async (given) => {
    control.abort()
    return nothing(given)
  }),
}

/** `planned=30`: minutes from noon; `limit=60000 wait=12000 onFailure=stop`. */
async function job({ warehouse }: RunStory, names: string, words: string): Promise<string> {
  const { planned, limit, ...more } = fieldsOf(wordsOf(words))
  const plan = { name: 'mine', wait: 0, onFailure: 'continue', ...more } as const
  const plannedAt = planned === undefined ? undefined : at(Number(planned))
  const timeLimit = limit === undefined ? undefined : Number(limit)
  const work = wordsOf(names).map((name) => steps[name])
  control = new AbortController()
  turns = 0
  const began = clock.micros
  const ended = await carryOut(
    sandbox,
    warehouse,
    (deps) => runJob(deps, { ...plan, plannedAt, timeLimit, steps: work }),
    { clock: clock.skewed, signal: control.signal, concurrency: 1 },
  )
    .then(({ job, mode, status, reason, cursors }) => {
      const of = cursors.map(({ step, resource }) => `${step} ${resource}`)
      return wordsOf(`${job} ${mode} ${status} ${reason ?? ''} ${of.join(', ')}`).join(' ')
    })
    .catch(stopped)
  const told = ended.replace(/ has held .*/, ' holds the warehouse')
  const waited = Number((clock.micros - began) / 1_000_000n)
  return [
    told,
    ...(turns ? [`${turns} quiet steps`] : []),
    ...(waited ? [`after ${waited} seconds`] : []),
  ].join('; ')
}

runStories('test/engine/run/job.txt', sandbox, choice, {
  'at noon': () => {
    Object.assign(clock, { micros: noon, skew: 0n })
  },
  "this machine's clock is off by WORD hours": (_, hours) => {
    clock.skew = BigInt(hours!) * 3_600_000_000n
  },
  'job TEXT(?:, (.*))?': (story, names, how = '') => job(story, names!, how),
  'that run was cut short': ({ warehouse }) =>
    warehouse.write([warehouse.db.updateTable('sync_runs').set({ status: 'interrupted' }).compile()]),
  'another run holds the warehouse': async ({ warehouse }) => {
    lease = await claimLease(warehouse, { runId: 'other', command: 'sync', leaseMs: 60_000 })
  },
  'it ends while the next one waits': () => {
    const sleep = clock.sleep.bind(clock)
    clock.sleep = async (milliseconds) => {
      clock.sleep = sleep
      await lease?.release()
      await sleep(milliseconds)
    }
  },
  'the last run': async ({ warehouse }) => {
    // Ids of runs within one second are in no order.
    const runs = (await rowsOf(warehouse, 'sync_runs')).toSorted((a, b) => Number(a.seq) - Number(b.seq))
    const { status, reason, error, rows_upserted } = runs.at(-1)!
    return `${status} ${reason} ${error}, ${rows_upserted} rows`
  },
  'turns of WORD': async ({ warehouse }, mode) =>
    [...(await lastTurns(warehouse, mode as 'sync')).keys()].toSorted().join(', ') || 'none',
  'why of the note': async ({ warehouse }) => {
    const { mode, run_id } = (await why(sandbox, warehouse, { id: 1 })).rows[0]!.brought!
    const [run] = await rowsOf(warehouse, 'sync_runs')
    return `${mode}, by ${run_id === run?.run_id ? 'that run' : 'another'}`
  },
})
