/* How each job ended when it last ran, whoever started it. Used by `jobs list` and by `schedule`. */
import { recordedOrder } from '../../engine/warehouse/runs.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

export interface LastOfJob {
  readonly run_id: string
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly status: string | null
}

/** By the job's name; those that never ran are missing. */
export async function lastOfJobs(
  warehouse: Warehouse,
  names: readonly string[],
): Promise<Map<string, LastOfJob>> {
  const found = new Map<string, LastOfJob>()
  if (!(await warehouse.has('sync_runs'))) return found
  const order = await warehouse.read(recordedOrder)
  for (const name of names) {
    const row = await warehouse.read((db) =>
      db
        .selectFrom('sync_runs')
        .select(['run_id', 'started_at', 'finished_at', 'status'])
        .where('job', '=', name)
        .orderBy(order, 'desc')
        .orderBy('started_at', 'desc')
        .limit(1)
        .executeTakeFirst(),
    )
    if (row) found.set(name, row)
  }
  return found
}
