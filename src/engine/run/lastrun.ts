/* Who is at work in a warehouse, and how its last run ended. Used by statusdocument.ts. */
import type { Int64 } from '../../../schema/resource.js'
import { since } from '../base/format.js'
import { fromMicros } from '../base/timestamp.js'
import { isLive, listenCommand, wholeName } from '../warehouse/leaserows.js'
import { ofRuns, recordedOrder } from '../warehouse/runs.js'
import type { Warehouse } from '../warehouse/warehouse.js'

type Db = Warehouse['db']

export interface StatusHolder {
  readonly run_id: string
  /** Its part of the tenants, such as `3/8`. null: the whole warehouse. */
  readonly shard: string | null
  readonly command: string | null
  readonly host: string | null
  readonly pid: Int64 | null
  readonly since: string | null
  readonly expires_at: string | null
}

export interface LastRun {
  readonly run_id: string
  readonly job: string | null
  readonly mode: string | null
  readonly status: string | null
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly error: string | null
  readonly reason: string | null
  /** Its end wasn't recorded and it is no longer running: it was killed, or its machine went down. */
  readonly ended_without_a_word: boolean
}

/** The live runs that hold the lease, shards in their order: one, or some that write beside each other. */
export async function readHolders(db: Db, nowMicros: bigint): Promise<StatusHolder[]> {
  const rows = await db.selectFrom('sync_lease').selectAll().execute()
  const live = rows.filter((row) => isLive(row, fromMicros(nowMicros)))
  return live
    .toSorted((a, b) => Number.parseInt(a.name, 10) - Number.parseInt(b.name, 10))
    .map(({ name, owner, command, host, pid, claimed_at, expires_at }) => ({
      ...{ run_id: owner ?? '', shard: name === wholeName ? null : name },
      ...{ command, host, pid, since: claimed_at, expires_at },
    }))
}

/** The first of them. null if there is none. */
export const readHolder = async (db: Db, nowMicros: bigint): Promise<StatusHolder | null> =>
  (await readHolders(db, nowMicros))[0] ?? null

/**
 * For how many milliseconds a run has been at work; null if none is. A run that still holds its lease is alive, and makes
 * progress: each request has a deadline, each wait a limit, and what it can't read ends as failed. So what it hasn't
 * reached isn't overdue, and neither is what it has read itself. A listener only reads lists that were read before.
 */
export const runningMs = (holder: StatusHolder | null, nowMicros: bigint): number | null =>
  holder === null || holder.command === listenCommand
    ? null
    : Math.max(0, since(holder.since ?? fromMicros(nowMicros), nowMicros))

/** The most recently recorded run. */
export async function readLastRun(db: Db, holders: readonly StatusHolder[]): Promise<LastRun | null> {
  // Selects all columns without naming them: a warehouse of an older version that hasn't been migrated has fewer.
  const row = await db
    .selectFrom('sync_runs')
    .selectAll()
    .where(ofRuns)
    .orderBy(await recordedOrder(db), 'desc')
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return null
  const { run_id, job, mode, status, started_at, finished_at, error } = row
  return {
    ...{ run_id, job, mode, status, started_at, finished_at, error },
    reason: row.reason ?? null,
    ended_without_a_word: status === 'running' && !holders.some((holder) => holder.run_id === run_id),
  }
}
