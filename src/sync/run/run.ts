/*
 * A run that writes: `sync`, `backfill`, `reconcile`, and the steps of a job. The command line and the tests start it;
 * `plan` and `verify` use run/readonlyrun.ts instead.
 */
import { setMaxListeners } from 'node:events'
import { describeError, Skip } from '../../errors.js'
import { type ResourceModel, writtenTables } from '../../model/registry.js'
import { fromMicros } from '../../timestamp.js'
import { checkBelonging, readListsFrom, storeListsFrom } from '../../warehouse/belonging.js'
import { readCursors } from '../../warehouse/cursors.js'
import { readLateness } from '../../warehouse/lateness.js'
import { lastTurns } from '../../warehouse/runs.js'
import { forAnalysts } from './analysts.js'
import { Beginning, WholeLists } from './beginning.js'
import { chooseResources, planTasks } from './choice.js'
import { asWriter, type Dependencies, now, type RunContext } from './context.js'
import { endingOfRun, runCursors } from './cursor.js'
import { endingOf } from './ending.js'
import { askGrants, firstGrants, type Grants, GrantWatch } from './grants.js'
import { latenessOf } from './lateness.js'
import { workOf } from './modes.js'
import { pruneHistory } from './prune.js'
import { recordGrants } from './recordgrants.js'
import { recordCursors, recordEnd, recordFailures, recordStart } from './records.js'
import type { RunReport, RunRequest } from './report.js'
import { type RunEnd, reasonOf, reportOf, withQuarantine } from './runend.js'
import { settleColumns } from './settle.js'
import { takeSource } from './takesource.js'

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
    await warehouse.optimize(resources.flatMap(writtenTables))
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    observer.notice?.('The warehouse made no statistics', { error: describeError(error) })
  }
}

async function workOnAll(
  context: RunContext,
  request: RunRequest,
  { resources, grants }: { readonly resources: readonly ResourceModel[]; readonly grants: Grants },
): Promise<RunEnd> {
  await takeSource(context, grants)
  const turns = context.timeLimited ? await lastTurns(context.warehouse, request.mode) : undefined
  const chosen = planTasks(context, request, { resources, grants, turns })
  const ends = await forAnalysts(context, () => runCursors(context, chosen, workOf(context, request)))
  return {
    ends,
    reason: endingOfRun(context, ends) ?? grants.reason,
    quarantined: context.counted.quarantined,
  }
}
