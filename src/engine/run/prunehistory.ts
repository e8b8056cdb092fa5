/*
 * Keeps the history of runs small: rows older than `history.keep` are removed, and of idle runs older than a week, one
 * row per day and cursor remains. Done once a day, at the end of a run, under its lease. The amount of work is bounded,
 * and each transaction covers one run, so nobody has to wait. The next run does what is left over. The requests of one
 * cursor are trimmed by each walk that stores something, and by each reconcile.
 */
import { describeError, Retry } from '../base/errors.js'
import { inParts } from '../base/parts.js'
import { fromMicros, toMicros } from '../base/timestamp.js'
import { isOfTable } from '../warehouse/classify.js'
import { readMeta, storeMeta } from '../warehouse/state/meta.js'
import { pettyRequests, removeOldRequests, removeRequests } from '../warehouse/state/requests.js'
import { removeRun, thinRun } from '../warehouse/state/runcursors.js'
import { runsBack, runsBetween } from '../warehouse/state/runs.js'
import { knownTenants } from '../warehouse/state/tenants.js'
import type { Writer } from '../warehouse/warehouse.js'
import type { Writing } from './runcontext.js'
import { type CursorTask, keyOf, now } from './tenant.js'

const dayMicros = 86_400_000_000n
/** How long idle runs are kept whole, in days. */
const whole = 7n
/** 90 days, in milliseconds. */
const usualKeep = 7_776_000_000
/** The most rows that one run removes, and the most runs that it looks at. */
const mostRows = 5000
const mostRuns = 2000
/** Marks in sync_meta. */
const prunedOn = 'history_pruned_on'
const thinnedTo = 'history_thinned_to'
const epoch = '1970-01-01T00:00:00.000000Z'

const before = (time: string, micros: bigint): string => fromMicros(toMicros(time) - micros)
const dayOf = (time: string): string => `${time.slice(0, 10)}T00:00:00.000000Z`

type Needs = Pick<Writing, 'warehouse' | 'source' | 'clock' | 'config' | 'observer' | 'signal'>

/** History promises nothing: if pruning it fails, the run that has ended isn't affected. */
export async function pruneHistory(run: Needs): Promise<void> {
  if (run.signal.aborted) return
  try {
    await prune(run)
  } catch (error) {
    if (!(isOfTable(error) || error instanceof Retry)) throw error
    run.observer.warning?.('The history of runs could not be pruned', { error: describeError(error) })
  }
}

async function prune(run: Needs): Promise<void> {
  const { warehouse, config } = run
  if ((await readMeta(warehouse, prunedOn)) === dayOf(now(run))) return
  const time = await believedNow(run)
  const today = dayOf(time)
  const budget = { rows: mostRows }
  const kept = before(time, BigInt(config.history?.keep ?? usualKeep) * 1000n)
  await removeOld(run, kept, budget)
  const thinned = (await readMeta(warehouse, thinnedTo)) ?? epoch
  // A mark in the future was set by a wrong clock.
  await thin(run, { from: thinned > today ? epoch : thinned, today }, budget)
  if (budget.rows > 0) await warehouse.write([storeMeta(warehouse.db, prunedOn, dayOf(now(run)))])
}

/**
 * The time from which the age of runs is computed: our clock, but no later than the source's, or than the previous run
 * if the source sends no time. Otherwise a clock that jumps a year ahead would make all history too old to keep.
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

/** When the run before the current one began. null if there isn't one. */
async function startBeforeLast(warehouse: Writing['warehouse']): Promise<string | null> {
  for await (const [, before] of runsBack(warehouse, { withEvents: false })) return before?.started_at ?? null
  return null
}

interface Budget {
  rows: number
}

async function removeOld({ warehouse }: Needs, kept: string, budget: Budget): Promise<void> {
  const { db } = warehouse
  for (const { run_id } of await runsBetween(warehouse, epoch, kept, mostRuns)) {
    if (budget.rows <= 0) return
    budget.rows -= await warehouse.write(removeRun(db, run_id))
  }
  for (const { tenantId } of await knownTenants(warehouse)) {
    if (budget.rows <= 0) return
    budget.rows -= await warehouse.write([removeOldRequests(db, tenantId, kept, 1000)])
  }
}

/** Goes day by day. A day that has been thinned isn't looked at again. */
async function thin(
  { warehouse }: Needs,
  { from, today }: { readonly from: string; readonly today: string },
  budget: Budget,
): Promise<void> {
  const end = before(today, whole * dayMicros)
  for (let day = from; day < end && budget.rows > 0; ) {
    const [first] = await runsBetween(warehouse, day, end, 1)
    day = first ? dayOf(first.started_at ?? day) : end
    const next = first ? before(day, -dayMicros) : end
    const runs = (await runsBetween(warehouse, day, next, mostRuns)).map(({ run_id }) => run_id)
    for (const [i, runId] of runs.slice(0, -1).entries())
      budget.rows -= await warehouse.write(thinRun(warehouse.db, runId, runs.slice(i + 1)))
    await warehouse.write([storeMeta(warehouse.db, thinnedTo, next)])
    day = next
  }
}

/** How many bytes of recorded requests a row may cost on average, and the bytes of one recorded request. */
const bytesARow = 16
const bytesARequest = 250
/** This many requests are always kept. */
const least = 16

/**
 * Deletes a cursor's recorded requests that fetched few rows, oldest first. This keeps the records for `why` small,
 * however often single records change. For rows from a deleted request, `why` can only show the run.
 */
export async function trimRequests(warehouse: Writer, task: CursorTask, rows: number): Promise<void> {
  const kept = Math.max(least, Math.floor((rows * bytesARow) / bytesARequest))
  const stamps = await pettyRequests(warehouse, keyOf(task), kept)
  for (const some of inParts(stamps, 500))
    await warehouse.write([removeRequests(warehouse.db, task.tenantId, some)])
}
