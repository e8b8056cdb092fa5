/*
 * What a run records about itself: its beginning and end in sync_runs, its cursors in sync_run_cursors, and failures in
 * sync_cursors. Called by run/run.ts.
 */
import { hostname } from 'node:os'
import { describeError } from '../base/errors.js'
import { inParts } from '../base/parts.js'
import { shardName } from '../base/shard.js'
import { fromMicros } from '../base/timestamp.js'
import { lockRow } from '../warehouse/lease/lease.js'
import { addToCounters, setCounters } from '../warehouse/state/counters.js'
import { moveCursor } from '../warehouse/state/cursors.js'
import { forgetKnownFields } from '../warehouse/state/drift.js'
import { newestOrphanStamp } from '../warehouse/state/requests.js'
import { storeRunCursors } from '../warehouse/state/runcursors.js'
import { endOrphans, hasEnded, startRun, updateRun } from '../warehouse/state/runs.js'
import type { CursorEnd } from './cursor.js'
import { type EndedWork, entriesOf, jobLabel, runEntry } from './lifetimecounters.js'
import type { Dependencies, Writing, WritingRun } from './runcontext.js'
import type { Mode, RunReport, RunRequest } from './runreport.js'
import { keyOf, stateOf } from './tenant.js'

/** Cursors per statement. */
const cursorsAtOnce = 200

/**
 * Records that the run has begun. Killed runs are recorded as interrupted, and this run's stamps begin after theirs,
 * even if the clock has been set back since. Unknown fields that have columns by now are known and no longer drift.
 */
export async function recordStart(
  { warehouse, stamps, runId, startedAt, shard, plannedAt }: Writing & { readonly startedAt: string },
  { job, mode }: Pick<RunRequest, 'job' | 'mode'>,
): Promise<void> {
  stamps.raise(await newestOrphanStamp(warehouse))
  const row = {
    run_id: runId,
    job,
    mode,
    status: 'running',
    started_at: startedAt,
    host: hostname(),
    pid: process.pid,
    token: warehouse.token,
    shard: shard ? shardName(shard) : null,
    planned_at: plannedAt ?? null,
  }
  const known = warehouse.model.list.flatMap(({ name, promoted }) => {
    const names = Object.keys(promoted)
    return names.length > 0 ? [forgetKnownFields(warehouse.db, name, names)] : []
  })
  const { db } = warehouse
  await warehouse.transaction(async (session) => {
    // Runs of other shards that begin now wait: no two get the same number.
    if (shard) await session.run(lockRow(db))
    // The work is repeated if the response to its commit was lost. Then this run is on record, and no orphan: it has a lease.
    const orphans = await session.run(endOrphans(db))
    const killed = new Map<string, number>()
    for (const { job: name, mode: its } of orphans.rows) {
      const label = jobLabel(name, its)
      killed.set(label, (killed.get(label) ?? 0) + 1)
    }
    const counts = [...killed].map(([label, runs]) => runEntry(label, 'interrupted', runs))
    const statements = [...addToCounters(db, counts), startRun(db, row), ...known]
    for (const statement of statements) await session.run(statement)
  })
}

/**
 * Records what failed in the cursors themselves; successes were recorded in the transaction of their last rows. A
 * backfill doesn't move a cursor, so it says nothing about how fresh one is. What is already recorded about a revoked
 * tenant isn't written again by each run.
 */
export async function recordFailures(run: WritingRun, ends: readonly CursorEnd[]): Promise<void> {
  const { warehouse, runId } = run
  const changes = ends.flatMap(({ task, report, interrupted }) => {
    if (report.status === 'ok' || interrupted) return []
    const before = stateOf(run, task)
    if (report.reason === 'revoked' && before?.reason === 'revoked') return []
    const change = {
      status: report.status,
      last_error: report.error,
      reason: report.reason,
      last_run_id: runId,
      completeness: report.status === 'failed' ? report.completeness : undefined,
    }
    return [moveCursor(warehouse.db, keyOf(task), change)]
  })
  for (const some of inParts(changes, cursorsAtOnce)) await warehouse.write(some)
}

/** `mode`: what the step did that the cursors belong to. */
export async function recordCursors(
  { warehouse, runId }: Pick<Writing, 'warehouse' | 'runId'>,
  ends: readonly CursorEnd[],
  mode: Mode,
): Promise<void> {
  const rowOf = ({ report, startedAt, finishedAt, quarantined, books }: CursorEnd) => ({
    tenant_id: report.tenant_id,
    resource: report.resource,
    run_id: runId,
    step: report.step,
    mode,
    status: report.status,
    completeness: report.completeness,
    reason: report.reason,
    watermark: report.watermark,
    started_at: startedAt,
    finished_at: finishedAt,
    records: report.records,
    records_changed: report.records_changed,
    requests: report.requests,
    rows_upserted: report.rows_upserted,
    rows_deleted: report.rows_deleted,
    quarantined,
    books: books === null ? null : JSON.stringify(books),
    error: report.error,
  })
  for (const some of inParts(ends, cursorsAtOnce))
    await warehouse.write([storeRunCursors(warehouse.db, some.map(rowOf))])
}

/**
 * Records the end of the run and adds it to the lifetime totals once, however often its end is recorded. Writes without
 * the lease, so that a run that lost its lease can still record its end. A database that went back may have lost the
 * run's beginning: it is recorded again, or nobody would hear of this run.
 */
export async function recordEnd(
  {
    warehouse,
    source,
    stamps,
    runId,
    stats,
    shard,
    plannedAt,
  }: Pick<Dependencies, 'warehouse' | 'source' | 'stamps' | 'shard' | 'plannedAt'> &
    Pick<WritingRun, 'runId' | 'stats'>,
  report: RunReport,
  {
    status,
    error,
    cursors,
  }: Pick<EndedWork, 'cursors'> & { readonly status: string; readonly error: unknown },
): Promise<void> {
  const { finished_at, requests, rate_limited, retries, rows_upserted, rows_deleted, quarantined } = report
  const row = {
    status,
    finished_at,
    // After every stamp of this run, even if the clock was set back: the next run's stamps begin after this moment.
    stamped_until: fromMicros(stamps.next()),
    reason: report.reason,
    requests,
    rate_limited,
    retries,
    rows_upserted,
    rows_deleted,
    quarantined,
    error: error === null ? null : describeError(error),
    shard: shard ? shardName(shard) : null,
    planned_at: plannedAt ?? null,
  }
  const { db } = warehouse
  const { added, found } = entriesOf({ report, outcome: status, traffic: source.stats(), stats, cursors })
  await warehouse.transaction(async (session) => {
    const { rows: ended } = await session.run(hasEnded(db, runId))
    const totals = ended.length > 0 ? [] : [...addToCounters(db, added), ...setCounters(db, found)]
    for (const statement of totals) await session.run(statement)
    if ((await session.run(updateRun(db, runId, row))).affected > 0) return
    const { job, mode, started_at } = report
    await session.run(startRun(db, { run_id: runId, job, mode, status, started_at }))
    await session.run(updateRun(db, runId, row))
  })
}
