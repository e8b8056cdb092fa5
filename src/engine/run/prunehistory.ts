/*
 * Keeps the history of runs small: what is older than `history.keep` goes, and of the idle runs that are older than a
 * week one row a day and cursor stays. Once a day, at the end of a run, under its lease; a bounded amount of work, in
 * transactions of one run each, so that nobody waits for it. What is left over is the next run's.
 */
import { describeError, Retry, Skip } from '../base/errors.js'
import { fromMicros, toMicros } from '../base/timestamp.js'
import {
  readMarks,
  removeRequests,
  removeRun,
  runsBetween,
  setMark,
  startBeforeLast,
  thinRun,
} from '../warehouse/runhistory.js'
import { knownTenants } from '../warehouse/tenants.js'
import type { Writing } from './runcontext.js'
import { now } from './tenant.js'

const dayMicros = 86_400_000_000n
/** How long idle runs are kept whole, in days. */
const whole = 7n
/** 90 days, in milliseconds. */
const usualKeep = 7_776_000_000
/** Rows, and runs, that one run removes or looks at, at most. */
const mostRows = 5000
const mostRuns = 2000
const epoch = '1970-01-01T00:00:00.000000Z'

const before = (time: string, micros: bigint): string => fromMicros(toMicros(time) - micros)
const dayOf = (time: string): string => `${time.slice(0, 10)}T00:00:00.000000Z`

type Needs = Pick<Writing, 'warehouse' | 'source' | 'clock' | 'config' | 'observer' | 'signal'>

/** History promises nothing: where it cannot be put in order, the run that has ended loses nothing by it. */
export async function pruneHistory(run: Needs): Promise<void> {
  if (run.signal.aborted) return
  try {
    await prune(run)
  } catch (error) {
    if (!(error instanceof Skip || error instanceof Retry)) throw error
    run.observer.warning?.('The history of runs could not be pruned', { error: describeError(error) })
  }
}

async function prune(run: Needs): Promise<void> {
  const { warehouse, config } = run
  const marks = await readMarks(warehouse)
  if (marks.get('history_pruned_on') === dayOf(now(run))) return
  const time = await believedNow(run)
  const today = dayOf(time)
  const budget = { rows: mostRows }
  const kept = before(time, BigInt(config.history?.keep ?? usualKeep) * 1000n)
  await removeOld(run, kept, budget)
  const thinned = marks.get('history_thinned_to') ?? epoch
  // A mark that lies ahead was set by a clock that was wrong.
  await thin(run, { from: thinned > today ? epoch : thinned, today }, budget)
  if (budget.rows > 0) await warehouse.write([setMark(warehouse.db, 'history_pruned_on', dayOf(now(run)))])
}

/**
 * The time that the age of runs is reckoned from: our clock, and no later than the source's, or than the run before where
 * the source tells no time. A clock that jumps a year ahead would make all of history too old to be kept.
 */
async function believedNow({ warehouse, source, clock }: Needs): Promise<string> {
  const own = now({ clock })
  const { serverTime } = source.stats()
  const other =
    serverTime === undefined
      ? await startBeforeLast(warehouse)
      : fromMicros(BigInt(Math.floor(serverTime)) * 1000n)
  return other !== null && other < own ? other : own
}

interface Budget {
  rows: number
}

async function removeOld({ warehouse }: Needs, kept: string, budget: Budget): Promise<void> {
  const { db } = warehouse
  for (const { runId } of await runsBetween(warehouse, epoch, kept, mostRuns)) {
    if (budget.rows <= 0) return
    budget.rows -= await warehouse.write(removeRun(db, runId))
  }
  for (const { tenantId } of await knownTenants(warehouse)) {
    if (budget.rows <= 0) return
    budget.rows -= await warehouse.write([removeRequests(db, tenantId, kept, 1000)])
  }
}

/** Goes from day to day; a day that is thinned is not looked at again. */
async function thin(
  { warehouse }: Needs,
  { from, today }: { readonly from: string; readonly today: string },
  budget: Budget,
): Promise<void> {
  const end = before(today, whole * dayMicros)
  const thinnedTo = (to: string) => setMark(warehouse.db, 'history_thinned_to', to)
  for (let day = from; day < end && budget.rows > 0; ) {
    const [first] = await runsBetween(warehouse, day, end, 1)
    day = first ? dayOf(first.startedAt) : end
    const next = first ? before(day, -dayMicros) : end
    const runs = (await runsBetween(warehouse, day, next, mostRuns)).map(({ runId }) => runId)
    for (const [i, runId] of runs.slice(0, -1).entries())
      budget.rows -= await warehouse.write(thinRun(warehouse.db, runId, runs.slice(i + 1)))
    await warehouse.write([thinnedTo(next)])
    day = next
  }
}
