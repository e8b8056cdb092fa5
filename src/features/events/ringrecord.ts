/*
 * Records what events rang. Each hour has one row in sync_runs, to which every process that rings adds.
 * sync_run_cursors has a row for each cursor with its last verdict. It isn't a run of its own: nobody starts it, and
 * nobody waits for its end.
 */
import { type RawBuilder, sql } from 'kysely'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { CursorEnd } from '../../engine/run/cursor.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import { eventsMode, startRun } from '../../engine/warehouse/state/runs.js'

const plus = (column: string, more: number): RawBuilder<number> =>
  sql<number>`coalesce(${sql.ref(column)}, 0) + ${more}`

/** Columns to which each walk adds. */
const sums = (end: CursorEnd) => ({
  requests: end.report.requests,
  rows_upserted: end.report.rows_upserted,
  rows_deleted: end.report.rows_deleted,
  quarantined: end.quarantined,
})

const added = <T extends Record<string, number>>(table: string, columns: T) =>
  Object.fromEntries(Object.entries(columns).map(([name, more]) => [name, plus(`${table}.${name}`, more)]))

/** Records the outcome of a cursor that was rung. */
export async function recordRing(
  { warehouse, stamps }: Pick<WritingRun, 'warehouse' | 'stamps'>,
  runId: string,
  end: CursorEnd,
): Promise<void> {
  const { db } = warehouse
  const { reconciled: _, requests, rows_upserted, rows_deleted, ...report } = end.report
  const { startedAt: started_at, finishedAt: finished_at } = end
  const counts = sums(end)
  const records = { records: report.records, records_changed: report.records_changed }
  const books = end.books === null ? null : JSON.stringify(end.books)
  const last = { ...report, mode: eventsMode, finished_at, books }
  const run = { run_id: runId, job: null, mode: eventsMode, status: 'ok', started_at, finished_at }
  const stamped_until = fromMicros(stamps.next())
  await warehouse.write([
    startRun(db, run),
    db
      .updateTable('sync_runs')
      .set({ finished_at, stamped_until, ...added('sync_runs', counts) })
      .where('run_id', '=', runId)
      .compile(),
    db
      .insertInto('sync_run_cursors')
      .values({ ...last, ...counts, run_id: runId, started_at })
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'resource', 'run_id', 'step'])
          .doUpdateSet({ ...last, ...added('sync_run_cursors', { ...counts, ...records }) }),
      )
      .compile(),
    db
      .updateTable('sync_runs')
      .set((eb) => ({
        status: eb
          .case()
          .when(
            eb.exists(
              eb
                .selectFrom('sync_run_cursors as c')
                .select('c.run_id')
                .where('c.run_id', '=', runId)
                .where('c.status', '!=', 'ok'),
            ),
          )
          .then('partial')
          .else('ok')
          .end(),
      }))
      .where('run_id', '=', runId)
      .compile(),
  ])
}
