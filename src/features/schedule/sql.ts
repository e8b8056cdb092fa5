/*
 * The rows of sync_jobs: what is planned, and what ran last. Used by src/features/schedule/scheduler.ts and
 * `jobs list`.
 */
import type { CompiledQuery } from 'kysely'
import type { RowsOf } from '../../engine/model/statetable.js'
import type { Db, WaryReader } from '../../engine/warehouse/database.js'
import { type jobTables, withJobs } from './tables.js'

export type JobRow = RowsOf<typeof jobTables>['sync_jobs']

/** By name; empty in an older version's warehouse, which has no such table. */
export async function readJobRows(warehouse: WaryReader): Promise<Map<string, JobRow>> {
  if (!(await warehouse.has('sync_jobs'))) return new Map()
  const rows = await warehouse.read((db) => withJobs(db).selectFrom('sync_jobs').selectAll().execute())
  return new Map(rows.map((row) => [row.job, row]))
}

export function storeJobRow(db: Db, { job, ...row }: JobRow): CompiledQuery {
  return withJobs(db)
    .insertInto('sync_jobs')
    .values({ job, ...row })
    .onConflict((c) => c.column('job').doUpdateSet(row))
    .compile()
}
