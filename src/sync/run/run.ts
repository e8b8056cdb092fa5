/*
 * A run that writes: `sync`, `backfill`, `reconcile`, and the steps of a job. The command line and the tests start it;
 * `plan` and `verify` use run/readonlyrun.ts instead.
 */
import { setMaxListeners } from 'node:events'
import { describeError, Retry, Skip, Stop } from '../../errors.js'
import type { ResourceModel } from '../../model/registry.js'
import type { Reason } from '../../reasons.js'
import { fromMicros } from '../../timestamp.js'
import { checkBelonging, readListsFrom, storeListsFrom } from '../../warehouse/belonging.js'
import { cursorName, readCursors } from '../../warehouse/cursors.js'
import { readLateness } from '../../warehouse/lateness.js'
import { quarantinedSince } from '../../warehouse/quarantine.js'
import { lastTurns } from '../../warehouse/runs.js'
import { Beginning, WholeLists } from './beginning.js'
import { chooseResources, planTasks } from './choice.js'
import { asWriter, type Dependencies, keyOf, now, type RunContext } from './context.js'
import { type CursorEnd, endingOfRun, runCursors } from './cursor.js'
import { endingOf } from './ending.js'
import { askGrants, firstGrants, type Grants, GrantWatch } from './grants.js'
import { latenessOf } from './lateness.js'
import { workOf } from './modes.js'
import { pruneHistory } from './prune.js'
import { recordGrants } from './recordgrants.js'
import { recordCursors, recordEnd, recordFailures, recordStart } from './records.js'
import type { RunReport, RunRequest } from './report.js'
import { settleColumns } from './settle.js'
import { takeSource } from './takesource.js'

/** A cursor that is skipped is not done: its tenant is revoked, or the run ended before. */
const isDone = ({ report: { status } }: CursorEnd): boolean => status === 'ok' || status === 'unavailable'

function statusOf(ends: readonly CursorEnd[], reason: Reason | null): RunReport['status'] {
  if (reason === null && ends.every(isDone)) return 'ok'
  return ends.some((end) => end.report.status === 'ok') ? 'partial' : 'failed'
}

function reportOf(
  context: RunContext,
  request: RunRequest,
  startedAt: string,
  { ends, reason, quarantined }: RunEnd,
): RunReport {
  const stats = context.source.stats()
  const sum = (name: 'rows_upserted' | 'rows_deleted'): number =>
    ends.reduce((total, { report }) => total + report[name], 0)
  return {
    run_id: context.runId,
    job: request.job,
    mode: request.mode,
    status: statusOf(ends, reason),
    started_at: startedAt,
    // After every stamp of this run, even if the clock was set back: the next run's stamps begin after this moment.
    finished_at: fromMicros(context.stamps.next()),
    requests: stats.requests,
    rate_limited: stats.rateLimited,
    retries: stats.retries,
    rows_upserted: sum('rows_upserted'),
    rows_deleted: sum('rows_deleted'),
    quarantined,
    reason,
    cursors: ends.map((end) => end.report),
  }
}

/**
 * Runs `sync`, `reconcile` or `backfill`: claims the warehouse, asks which tenants there are, does the work on every
 * cursor, and records what came of it. A cursor's failure stays with the cursor. Throws Stop when the run as a whole
 * cannot go on. When the signal fires, what is in hand is committed, and the report says what was not reached.
 */
export async function runSync(deps: Dependencies, request: RunRequest): Promise<RunReport> {
  const startedAt = now(deps)
  const resources = chooseResources(deps, request)
  return asWriter(deps, request.job ?? request.mode, async (lease) => {
    // Every request under way listens to the signal.
    setMaxListeners(0, lease.signal)
    await checkBelonging(deps.warehouse, deps.source.address)
    await settleColumns(deps, lease)
    const counted = { quarantined: 0 }
    const ask = async (): Promise<Grants> =>
      recordGrants({ ...deps, counted }, await askGrants(deps), lease.fence)
    const beginning = new Beginning(await readListsFrom(deps.warehouse), async (text) => {
      await deps.warehouse.write([storeListsFrom(deps.warehouse, text)], lease.fence)
    })
    const context: RunContext = {
      ...deps,
      source: new WholeLists(deps.source, beginning),
      ...lease,
      cursors: await readCursors(deps.warehouse),
      lateness: latenessOf(await readLateness(deps.warehouse, startedAt)),
      counted,
      grants: new GrantWatch(ask),
    }
    // A long walk is ahead: what it needs is started while the source is asked for the tenants.
    if (request.mode === 'full' || (request.mode === 'sync' && context.cursors.size === 0))
      deps.warehouse.warm()
    try {
      await recordStart(context, request, startedAt)
      const since = fromMicros(context.stamps.next())
      const done = await workOnAll(context, request, { resources, grants: await firstGrants(ask) })
      const end = await withQuarantine(context, done, since)
      const { ends } = end
      const isLost = lease.signal.aborted && !deps.signal.aborted
      if (isLost) throw lease.signal.reason
      if (request.mode !== 'backfill') await recordFailures(context, ends)
      await recordCursors(context, ends)
      const report = reportOf(context, request, startedAt, end)
      const status = report.reason === 'interrupted' ? 'interrupted' : report.status
      await recordEnd(context, report, { status, error: null })
      if (report.rows_upserted > 0) await optimize(deps, resources)
      await pruneHistory(context)
      return report
    } catch (error) {
      const reason = endingOf(deps.signal) ?? reasonOf(error)
      const report = reportOf(context, request, startedAt, {
        ends: [],
        reason,
        quarantined: context.counted.quarantined,
      })
      const status = reason === 'interrupted' ? 'interrupted' : 'failed'
      await recordEnd(context, report, { status, error }).catch(() => {})
      throw error
    }
  })
}

/** Statistics help the planner and promise nothing: a table that refuses them takes nothing from a run that has ended. */
async function optimize(
  { warehouse, observer }: Dependencies,
  resources: readonly ResourceModel[],
): Promise<void> {
  try {
    await warehouse.optimize(resources.flatMap(({ tables }) => tables))
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    observer.notice?.('The warehouse made no statistics', { error: describeError(error) })
  }
}

/** What came of a run's cursors, and what concerns the whole run. */
interface RunEnd {
  readonly ends: readonly CursorEnd[]
  readonly reason: Reason | null
  /** Values, items and records that the run has met and that are in quarantine. */
  readonly quarantined: number
}

/** Counts what is in quarantine of the run, each value once, however many requests have shown it. */
async function withQuarantine(context: RunContext, end: RunEnd, since: string): Promise<RunEnd> {
  if (end.quarantined === 0) return end
  const counts = await quarantinedSince(context.warehouse, since)
  const ends = end.ends.map((one) => ({ ...one, quarantined: counts.get(cursorName(keyOf(one.task))) ?? 0 }))
  return { ...end, ends, quarantined: [...counts.values()].reduce((sum, count) => sum + count, 0) }
}

async function workOnAll(
  context: RunContext,
  request: RunRequest,
  { resources, grants }: { readonly resources: readonly ResourceModel[]; readonly grants: Grants },
): Promise<RunEnd> {
  await takeSource(context, grants)
  const turns = context.timeLimited ? await lastTurns(context.warehouse, request.mode) : undefined
  const chosen = planTasks(context, request, { resources, grants, turns })
  const ends = await runCursors(context, chosen, workOf(context, request))
  return {
    ends,
    reason: endingOfRun(context, ends) ?? grants.reason,
    quarantined: context.counted.quarantined,
  }
}

/** What a failure of the whole run is counted as. */
const reasonOf = (error: unknown): Reason | null =>
  error instanceof Stop || error instanceof Skip || error instanceof Retry
    ? (error.details.code ?? null)
    : null
