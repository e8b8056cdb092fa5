/** Jobs, and what a scheduler plans. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Warehouse } from './warehouse.js'

/** A row of the plan. */
export interface JobRow {
  readonly job: string
  readonly schedule: string
  readonly time_zone: string
  readonly planned_at: string
  readonly last_planned_at?: string | null
  readonly started_at?: string | null
  readonly finished_at?: string | null
  readonly exit_code?: number | null
  readonly attempts: number
}
/** The plan that a warehouse holds, which is a feature's table. */
export const jobsIn = ({ db }: Warehouse) => db.withTables<{ sync_jobs: JobRow }>()

/** Writes a job with one sync; without a schedule, it replaces the shipped job of that name. */
export function writeJob(folder: string, name: string, more: object = {}): void {
  mkdirSync(join(folder, 'jobs'), { recursive: true })
  const content = { description: 'A job.', steps: [{ command: 'sync' }], ...more }
  writeFileSync(join(folder, 'jobs', `${name}.json`), JSON.stringify(content))
}

/** A folder whose only scheduled job is this one. */
export function onlyJob(folder: string, name: string, more: object): void {
  for (const shipped of ['hourly', 'nightly', 'weekly-verify']) writeJob(folder, shipped)
  writeJob(folder, name, more)
}

/** Looks again and again; a look that takes long is rare, or it would keep the processor from what is waited for. */
export async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    const began = performance.now()
    if (await is()) return
    const pause = Math.max(50, 3 * (performance.now() - began))
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
