import { setMaxListeners } from 'node:events'
import { hostname } from 'node:os'
import type { Int64 } from '../../../schema/resource.js'
import { describeError, Stop } from '../../errors.js'
import type { ResourceModel } from '../../model/registry.js'
import { fromMicros, toMicros } from '../../timestamp.js'
import { type CursorState, cursorName, readCursors } from '../../warehouse/cursors.js'
import { remaining } from '../walks/incremental.js'
import { type CursorContext, type Dependencies, newRunId, now, type RunContext } from './context.js'
import { type Begin, type CursorEnd, type CursorTask, recordFailure, runCursor } from './cursor.js'
import { firstGrants, type Grants, refreshTenants } from './grants.js'
import { workOf } from './modes.js'
import type { RunReport, RunRequest } from './report.js'

export function chooseTenants(
  deps: Pick<Dependencies, 'config'>,
  request: Pick<RunRequest, 'tenants'>,
  grants: Grants,
): readonly Int64[] {
  const configured = deps.config.sync.tenants
  const wanted = request.tenants ?? (configured === 'all' ? null : configured)
  if (wanted === null) return grants.granted
  const known = new Set([...grants.granted, ...grants.revoked])
  const unknown = wanted.filter((tenant) => !known.has(tenant))
  if (unknown.length > 0)
    throw new Stop(`Tenant ${unknown.join(', ')} is not granted to this partner`, {
      exitCode: 2,
      hint: `Granted are: ${grants.granted.slice(0, 20).join(', ') || 'none'}. Ask the tenant's owner for a grant, or name another --tenant`,
    })
  return wanted
}

export function chooseResources(
  deps: Pick<Dependencies, 'config' | 'model'>,
  request: Pick<RunRequest, 'resources'>,
): ResourceModel[] {
  const configured = deps.config.sync.resources
  const wanted = request.resources ?? (configured === 'all' ? null : configured)
  const enabled = deps.model.list.filter(
    (resource) => resource.enabled && resource.resource.scope === 'tenant',
  )
  if (wanted === null) return enabled
  const chosen = wanted.map((name) => {
    const resource = enabled.find((candidate) => candidate.name === name)
    if (resource) return resource
    throw new Stop(`There is no resource ${name}, or it is switched off`, {
      exitCode: 2,
      hint: `Expected one of ${enabled.map((candidate) => candidate.name).join(', ')}`,
    })
  })
  return [...new Set(chosen)]
}

/**
 * Longest first, so that no big cursor runs alone at the end: walks that were cut short, by what lay before them; then
 * resources by how much a record of theirs holds. Among equals tenants take turns, so that a large one does not hold
 * up the small ones.
 */
export function tasksOf(
  tenants: readonly Int64[],
  resources: readonly ResourceModel[],
  cursors: ReadonlyMap<string, CursorState>,
): CursorTask[] {
  const left = ({ tenantId, resource }: CursorTask): number =>
    remaining(cursors.get(cursorName({ tenantId, resource: resource.name })))
  return resources
    .toSorted((a, b) => b.tables.length - a.tables.length)
    .flatMap((resource) => tenants.map((tenantId) => ({ tenantId, resource })))
    .toSorted((a, b) => left(b) - left(a))
}

/** A 404 means "not offered" only where the tenant answers otherwise. */
function settleAbsent(ends: readonly CursorEnd[]): CursorEnd[] {
  const answering = new Set(ends.filter((end) => end.report.status === 'ok').map((end) => end.task.tenantId))
  return ends.map((end) =>
    end.absent && answering.has(end.task.tenantId)
      ? { ...end, report: { ...end.report, status: 'unavailable' } }
      : end,
  )
}

/** Works on every cursor, so many at a time; what one of them throws ends the others. */
export async function workOnAll(
  context: CursorContext,
  tasks: readonly CursorTask[],
  begin: Begin,
): Promise<CursorEnd[]> {
  const ends: CursorEnd[] = []
  let stopped: unknown
  const one = async (task: CursorTask): Promise<void> => {
    if (stopped !== undefined || context.signal.aborted) return
    try {
      const end = await runCursor(context, task, begin)
      ends.push(end)
      if (!end.interrupted) context.observer.cursor?.(end.report)
    } catch (error) {
      stopped ??= error
    }
  }
  // Each lane takes the next task when it has done one: in a limiter's queue, thousands would cost a kilobyte each.
  const waiting = tasks.values()
  const lane = async (): Promise<void> => {
    for (const task of waiting) await one(task)
  }
  const lanes = Math.min(Math.max(1, context.config.sync.concurrency), tasks.length)
  await Promise.all(Array.from({ length: lanes }, lane))
  if (stopped !== undefined) throw stopped
  return settleAbsent(ends)
}

const statusOf = (ends: readonly CursorEnd[], aborted: boolean): RunReport['status'] => {
  const failed = ends.filter((end) => end.report.status === 'failed').length
  if (failed === 0 && !aborted) return 'ok'
  return ends.some((end) => end.report.status === 'ok') ? 'partial' : 'failed'
}

function reportOf(
  context: RunContext,
  request: RunRequest,
  startedAt: string,
  ends: readonly CursorEnd[],
): RunReport {
  const stats = context.source.stats()
  const sum = (pick: (end: CursorEnd) => number): number => ends.reduce((total, end) => total + pick(end), 0)
  return {
    run_id: context.runId,
    job: request.job,
    mode: request.mode,
    status: statusOf(ends, context.signal.aborted),
    started_at: startedAt,
    // Not before any stamp of this run, whatever was done to the clock: the next run's stamps begin after it.
    finished_at: fromMicros(context.stamps.next()),
    requests: stats.requests,
    rate_limited: stats.rateLimited,
    retries: stats.retries,
    rows_upserted: sum((end) => end.report.rows_upserted),
    rows_deleted: sum((end) => end.report.rows_deleted),
    quarantined: context.counted.quarantined,
    cursors: ends.map((end) => end.report),
  }
}

async function recordEnds(context: RunContext, ends: readonly CursorEnd[]): Promise<void> {
  const { db } = context.warehouse
  const rowOf = ({
    report: { reconciled: _, ...report },
    startedAt,
    finishedAt,
    quarantined,
    books,
  }: CursorEnd) => ({
    ...report,
    run_id: context.runId,
    started_at: startedAt,
    finished_at: finishedAt,
    quarantined,
    books: books === null ? null : JSON.stringify(books),
  })
  for (let i = 0; i < ends.length; i += 200)
    await context.warehouse.write(
      [
        db
          .insertInto('sync_run_cursors')
          .values(ends.slice(i, i + 200).map(rowOf))
          // Repeated when the answer to its commit was lost.
          .onConflict((c) => c.columns(['tenant_id', 'resource', 'run_id']).doNothing())
          .compile(),
      ],
      context.fence,
    )
}

/** Asks the authorizations again, once per tenant that a 404 casts doubt on. */
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
 * cursor, and records what came of it. A cursor's failure stays with the cursor. Throws Stop when the run as a whole cannot go on.
 * When the signal fires, what is in hand is committed, and the report says what was not reached.
 */
export async function runSync(deps: Dependencies, request: RunRequest): Promise<RunReport> {
  const startedAt = now(deps)
  const runId = newRunId(deps)
  const resources = chooseResources(deps, request)
  const lease = await deps.warehouse.claim({
    runId,
    command: request.job ?? request.mode,
    leaseMs: leaseMs(deps),
  })
  const signal = AbortSignal.any([deps.signal, lease.lost])
  // Every request under way listens to it.
  setMaxListeners(0, signal)
  const context: RunContext = {
    ...deps,
    signal,
    runId,
    fence: lease.token,
    cursors: await readCursors(deps.warehouse),
    counted: { quarantined: 0 },
    isGranted: grantsOf(deps, lease.token),
  }
  // A first run, or all of it again: what a long walk needs is started while the tenants are asked for.
  if (request.mode === 'full' || (request.mode === 'sync' && context.cursors.size === 0))
    deps.warehouse.warm()
  try {
    await begin(context, request, startedAt)
    const grants = await firstGrants(context, context.fence)
    const tasks = tasksOf(chooseTenants(deps, request, grants), resources, context.cursors)
    deps.observer.planned?.(new Set(tasks.map((task) => task.tenantId)).size, tasks.length)
    const ends = await workOnAll(context, tasks, workOf(context, request))
    if (lease.lost.aborted) throw lease.lost.reason
    // A backfill says nothing of how fresh a cursor is.
    const failed = ends.filter(({ report, interrupted }) => report.status !== 'ok' && !interrupted)
    for (const end of request.mode === 'backfill' ? [] : failed) await recordFailure(context, end)
    await recordEnds(context, ends)
    const report = reportOf(context, request, startedAt, ends)
    await finish(context, report, deps.signal.aborted ? 'interrupted' : report.status, null)
    if (report.rows_upserted > 0)
      await deps.warehouse.optimize(resources.flatMap((resource) => resource.tables))
    return report
  } catch (error) {
    const report = reportOf(context, request, startedAt, [])
    await finish(context, report, 'failed', error).catch(() => {})
    throw error
  } finally {
    await lease.release().catch(() => {})
  }
}

const leaseMs = (deps: Dependencies): number => deps.leaseMs ?? 60_000

/**
 * A run that was killed has not recorded its end. Its rows carry stamps all the same, and those of this run must lie
 * after them, even if the clock was set back since.
 */
async function followOrphans({ warehouse, stamps }: RunContext): Promise<void> {
  const orphans = await warehouse.read((db) =>
    db.selectFrom('sync_runs').select('run_id').where('status', '=', 'running').execute(),
  )
  if (orphans.length === 0) return
  const newest = await warehouse.read(async (db) => [
    await db
      .selectFrom('sync_requests')
      .select((eb) => eb.fn.max<string | null>('synced_at').as('at'))
      .where(
        'run_id',
        'in',
        orphans.map((run) => run.run_id),
      )
      .executeTakeFirst(),
    await db
      .selectFrom('sync_cursors')
      .select((eb) => eb.fn.max<string | null>('last_success_at').as('at'))
      .executeTakeFirst(),
  ])
  for (const row of newest) if (row?.at) stamps.raise(toMicros(row.at))
}

async function begin(context: RunContext, request: RunRequest, startedAt: string): Promise<void> {
  await followOrphans(context)
  const row = {
    run_id: context.runId,
    job: request.job,
    mode: request.mode,
    status: 'running',
    started_at: startedAt,
    host: hostname(),
    pid: process.pid,
  }
  const { db } = context.warehouse
  // A run that was killed could not say so itself; whoever holds the lease now knows that it has ended.
  const orphans = db.updateTable('sync_runs').set({ status: 'interrupted' }).where('status', '=', 'running')
  await context.warehouse.write(
    [
      orphans.compile(),
      db
        .insertInto('sync_runs')
        .values(row)
        .onConflict((c) => c.column('run_id').doUpdateSet({ status: row.status }))
        .compile(),
    ],
    context.fence,
  )
}

async function finish(context: RunContext, report: RunReport, status: string, error: unknown): Promise<void> {
  const { requests, rate_limited, retries, rows_upserted, rows_deleted, quarantined, finished_at } = report
  const text = error === null ? null : describeError(error)
  const row = {
    status,
    finished_at,
    requests,
    rate_limited,
    retries,
    rows_upserted,
    rows_deleted,
    quarantined,
    error: text,
  }
  await context.warehouse.write([
    context.warehouse.db.updateTable('sync_runs').set(row).where('run_id', '=', context.runId).compile(),
  ])
}
