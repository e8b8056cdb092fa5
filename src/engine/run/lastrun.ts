/* Who is at work in a warehouse, and how its last run ended. Used by statusdocument.ts. */
import type { Int64 } from '../../../schema/resource.js'
import { since } from '../base/format.js'
import { hasTenant, type Shard, shardName } from '../base/shard.js'
import { fromMicros } from '../base/timestamp.js'
import { readerOf } from '../warehouse/database.js'
import { isLive, type LeaseHolder, listenCommand, machineName } from '../warehouse/lease/holder.js'
import { lastRecorded, type RunRow, runsBack } from '../warehouse/state/runs.js'
import { wholeName } from '../warehouse/store/versionbatch.js'
import type { Warehouse } from '../warehouse/warehouse.js'

type Db = Warehouse['db']

export interface StatusHolder {
  readonly run_id: string
  /** Its part of the tenants, such as `3/8`. null: the whole warehouse. */
  readonly shard: string | null
  readonly command: string | null
  /** The machine's name. */
  readonly host: string | null
  readonly pid: Int64 | null
  readonly since: string | null
  readonly expires_at: string | null
}

export interface LastRun {
  readonly run_id: string
  readonly job: string | null
  readonly mode: string | null
  /** Its part of the tenants, such as `3/8`; null: all. */
  readonly shard: string | null
  readonly status: string | null
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly error: string | null
  readonly reason: string | null
  /** Its end wasn't recorded and it is no longer running: it was killed, or its machine went down. */
  readonly ended_without_a_word: boolean
}

/** The live runs that hold the lease, shards in their order: one, or some that write beside each other. */
export const readHolders = async (db: Db, nowMicros: bigint): Promise<StatusHolder[]> =>
  (await readOwners(db, nowMicros)).live

/**
 * Also those that died, or sleep: until another run has fenced them off, they may still commit, so increments of their
 * tenants stand still.
 */
export async function readOwners(db: Db, nowMicros: bigint) {
  const rows = await db.selectFrom('sync_lease').selectAll().where('owner', 'is not', null).execute()
  const isAlive = (row: (typeof rows)[number]): boolean => isLive(row, fromMicros(nowMicros))
  return { live: holdersOf(rows.filter(isAlive)), lost: holdersOf(rows.filter((row) => !isAlive(row))) }
}

function holdersOf(rows: readonly LeaseHolder[]): StatusHolder[] {
  return rows
    .toSorted((a, b) => Number.parseInt(a.name, 10) - Number.parseInt(b.name, 10))
    .map(({ name, owner, command, host, pid, claimed_at, expires_at }) => ({
      run_id: owner ?? '',
      shard: name === wholeName ? null : name,
      command,
      host: host && machineName(host),
      pid,
      since: claimed_at,
      expires_at,
    }))
}

/**
 * For how many milliseconds a run has been at work; null if none is. A run that still holds its lease is alive, and makes
 * progress: each request has a deadline, each wait a limit, and what it can't read ends as failed. So what it hasn't
 * reached isn't overdue, and neither is what it has read itself. A listener only reads lists that were read before.
 * `tenantId`: only runs that work on this tenant count.
 */
export function runningMs(
  holders: readonly StatusHolder[],
  nowMicros: bigint,
  tenantId?: Int64,
): number | null {
  const times = holders
    .filter(({ command, shard }) => command !== listenCommand && isAtWorkOn(shard, tenantId))
    .map((holder) => Math.max(0, since(holder.since ?? fromMicros(nowMicros), nowMicros)))
  return times.length === 0 ? null : Math.max(...times)
}

const isAtWorkOn = (shard: string | null, tenantId: Int64 | undefined): boolean => {
  const [index, of] = shard?.split('/').map(Number) ?? []
  return (
    index === undefined || of === undefined || tenantId === undefined || hasTenant({ index, of }, tenantId)
  )
}

/** The most recently recorded run, or that of a shard. */
export async function readLastRun(
  db: Db,
  holders: readonly StatusHolder[],
  shard?: Shard,
): Promise<LastRun | null> {
  const row = await lastRecorded(readerOf(db), {
    shard: shard && shardName(shard),
    withEvents: false,
  })
  return row === undefined ? null : lastRunOf(row, holders)
}

function lastRunOf(row: RunRow, holders: readonly StatusHolder[]): LastRun {
  const { run_id, job, mode, status, started_at, finished_at, error } = row
  return {
    run_id,
    job,
    mode,
    shard: row.shard,
    status,
    started_at,
    finished_at,
    error,
    reason: row.reason,
    ended_without_a_word: status === 'running' && !holders.some((holder) => holder.run_id === run_id),
  }
}

/**
 * The last run of each shard of a run's job, in their order, as far as no run of all tenants came after: how one of them
 * ended says nothing of the others. N is that of the newest. Empty if the run isn't a shard's, nor the one after shards.
 */
export async function readShardRuns(
  db: Db,
  last: Pick<LastRun, 'job' | 'mode' | 'shard'> | null,
  holders: readonly StatusHolder[],
): Promise<LastRun[]> {
  if (last === null || (last.shard === null && last.mode !== 'whole')) return []
  const { job, mode } = last
  const rows = new Map<string, RunRow>()
  let of: string | undefined
  for await (const runs of runsBack(readerOf(db), job === null ? { job, mode: mode ?? '' } : { job })) {
    const whole = runs.findIndex((run) => run.shard === null && run.mode !== 'whole')
    for (const run of whole < 0 ? runs : runs.slice(0, whole)) {
      const [, parts] = run.shard?.split('/') ?? []
      of ??= parts
      if (run.shard !== null && parts === of && !rows.has(run.shard)) rows.set(run.shard, run)
    }
    if (whole >= 0 || (of !== undefined && rows.size === Number(of))) break
  }
  return [...rows.values()]
    .map((row) => {
      const run = lastRunOf(row, holders)
      // A sibling that has begun since has recorded that this one is over. A run that a signal ended has an end.
      const isLost = row.status === 'interrupted' && row.finished_at === null
      return isLost ? { ...run, ended_without_a_word: true } : run
    })
    .toSorted((a, b) => Number.parseInt(a.shard ?? '', 10) - Number.parseInt(b.shard ?? '', 10))
}
