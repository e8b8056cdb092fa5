/*
 * A run that writes: `sync`, `backfill`, `reconcile`, and the steps of a job. The command line and the tests start it;
 * `plan` and `verify` use run/readonlyrun.ts instead.
 */
import { setMaxListeners } from 'node:events'
import type { Int64 } from '../../../schema/resource.js'
import { describeError, Skip } from '../../errors.js'
import type { ResourceModel } from '../../model/registry.js'
import { fromMicros } from '../../timestamp.js'
import { checkBelonging } from '../../warehouse/belonging.js'
import { readCursors } from '../../warehouse/cursors.js'
import { lastTurns } from '../../warehouse/runs.js'
import { chooseResources, planTasks } from './choice.js'
import { asWriter, type Dependencies, now, type RunContext } from './context.js'
import { type CursorEnd, runCursors } from './cursor.js'
import { type Ending, endingOf } from './ending.js'
import { firstGrants, refreshTenants } from './grants.js'
import { workOf } from './modes.js'
import { recordCursors, recordEnd, recordFailures, recordStart } from './records.js'
import type { RunReport, RunRequest } from './report.js'
import { takeSource } from './takesource.js'

const statusOf = (ends: readonly CursorEnd[], ending: Ending | null): RunReport['status'] => {
  if (ending === null && !ends.some((end) => end.report.status === 'failed')) return 'ok'
  return ends.some((end) => end.report.status === 'ok') ? 'partial' : 'failed'
}

/** A time limit that came when all was done has ended nothing. */
function endingOfRun({ signal }: RunContext, ends: readonly CursorEnd[]): Ending | null {
  const ending = endingOf(signal)
  return ending === 'time_limit' && !ends.some(({ interrupted }) => interrupted) ? null : ending
}

function reportOf(
  context: RunContext,
  request: RunRequest,
  startedAt: string,
  ends: readonly CursorEnd[],
): RunReport {
  const stats = context.source.stats()
  const ending = endingOfRun(context, ends)
  const sum = (name: 'rows_upserted' | 'rows_deleted'): number =>
    ends.reduce((total, { report }) => total + report[name], 0)
  return {
    run_id: context.runId,
    job: request.job,
    mode: request.mode,
    status: statusOf(ends, ending),
    started_at: startedAt,
    // After every stamp of this run, even if the clock was set back: the next run's stamps begin after this moment.
    finished_at: fromMicros(context.stamps.next()),
    requests: stats.requests,
    rate_limited: stats.rateLimited,
    retries: stats.retries,
    rows_upserted: sum('rows_upserted'),
    rows_deleted: sum('rows_deleted'),
    quarantined: context.counted.quarantined,
    reason: ending,
    cursors: ends.map((end) => end.report),
  }
}

/** Asks for the authorizations again, once per tenant that a 404 casts doubt on. */
function grantsOf(deps: Dependencies, fence: Int64): (tenantId: Int64) => Promise<boolean> {
  const asked = new Map<Int64, Promise<boolean>>()
  return (tenantId) => {
    const known = asked.get(tenantId)
    if (known) return known
    const answer = refreshTenants(deps, fence).then(({ granted }) => granted.includes(tenantId))
    asked.set(tenantId, answer)
    return answer
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
    const context: RunContext = {
      ...deps,
      ...lease,
      cursors: await readCursors(deps.warehouse),
      counted: { quarantined: 0 },
      isGranted: grantsOf(deps, lease.fence),
    }
    // A long walk is ahead: what it needs is started while the source is asked for the tenants.
    if (request.mode === 'full' || (request.mode === 'sync' && context.cursors.size === 0))
      deps.warehouse.warm()
    try {
      await recordStart(context, request, startedAt)
      const ends = await workOnAll(context, request, resources)
      const isLost = lease.signal.aborted && !deps.signal.aborted
      if (isLost) throw lease.signal.reason
      if (request.mode !== 'backfill') await recordFailures(context, ends)
      await recordCursors(context, ends)
      const report = reportOf(context, request, startedAt, ends)
      const status = report.reason === 'interrupted' ? 'interrupted' : report.status
      await recordEnd(context, report, { status, error: null })
      if (report.rows_upserted > 0) await optimize(deps, resources)
      return report
    } catch (error) {
      const ending = endingOf(deps.signal)
      const report = { ...reportOf(context, request, startedAt, []), reason: ending }
      const status = ending === 'interrupted' ? 'interrupted' : 'failed'
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

async function workOnAll(
  context: RunContext,
  request: RunRequest,
  resources: readonly ResourceModel[],
): Promise<CursorEnd[]> {
  const grants = await firstGrants(context, context.fence)
  await takeSource(context, grants)
  const turns = context.timeLimited ? await lastTurns(context.warehouse, request.mode) : undefined
  const tasks = planTasks(context, request, { resources, grants, turns })
  return runCursors(context, tasks, workOf(context, request))
}
