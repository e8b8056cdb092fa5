/**
 * The rows of `sync_lease`, and which of them exclude each other. Row `run` is the whole warehouse, as every command takes
 * it that isn't told otherwise; row `3/8` the tenants of that shard. Shards of one number work beside each other.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Int64 } from '../../../../schema/resource.js'
import { Stop } from '../../base/errors.js'
import { type Shard, shardName } from '../../base/shard.js'
import { fromMicros, toMicros } from '../../base/timestamp.js'
import { wholeName } from '../store/versionbatch.js'

export interface LeaseHolder {
  readonly name: string
  readonly token: Int64 | null
  readonly owner: string | null
  readonly host: string | null
  readonly pid: Int64 | null
  readonly command: string | null
  readonly claimed_at: string | null
  readonly expires_at: string | null
  /** Absent in a warehouse of an older program, as `copy` finds it; so are those below. */
  readonly wanted_at?: string | null
  readonly stamps_from?: string | null
  readonly stamps_until?: string | null
  readonly forgotten?: Int64 | null
  readonly row_settings?: string | null
}

/** The row that is claimed: the number of shards is part of its name. */
export const leaseName = (shard: Shard | undefined): string => (shard ? shardName(shard) : wholeName)

/** How many shards there are, by the name of one; undefined for the whole warehouse. */
const shardsOf = (name: string): number | undefined =>
  name === wholeName ? undefined : Number(name.split('/')[1])

/** Whether holders of both could write the same tenant. Shards of different N may: to find out which do isn't worth it. */
export const overlaps = (one: string, other: string): boolean =>
  one === other || one === wholeName || other === wholeName || shardsOf(one) !== shardsOf(other)

/**
 * The command of a holder that follows the source's events (src/features/events). It releases the lease as soon as
 * another command wants it, since the next holder can do everything that it does.
 */
export const listenCommand = 'listen'

/** How long a request for the lease is valid, in milliseconds. A waiting command renews it once a second. */
const wishMs = 15_000

/** How long a lease lasts without a heartbeat, in milliseconds. */
export const usualLeaseMs = 60_000

/** How far a clock may be corrected under a live holder before its expiry is attributed to a wrong clock. */
const clockStepMs = 1000

/** A row without a holder. */
export const nobody = { owner: null, host: null, pid: null, command: null, expires_at: null }

export const later = (now: string, milliseconds: number): string =>
  fromMicros(toMicros(now) + BigInt(milliseconds) * 1000n)

/**
 * Whether a lease with that expiry is over now. An expiry further away than a lease lasts was written while a clock was
 * wrong, and doesn't count. A warehouse that nobody can write until that clock is right again was judged worse than
 * ending a live holder's run, which would move its expiry back within a quarter of a lease.
 */
export const isOver = (expiresAt: string | null, now: string, leaseMs = usualLeaseMs): boolean =>
  expiresAt === null || expiresAt <= now || expiresAt > later(now, leaseMs + clockStepMs)

/** Whether somebody holds the row, as far as this machine can tell. */
export const isLive = (
  holder: Pick<LeaseHolder, 'owner' | 'host' | 'pid' | 'expires_at'>,
  now: string,
  leaseMs?: number,
): boolean => holder.owner !== null && !isOver(holder.expires_at, now, leaseMs) && !isDead(holder)

/** Whether another command waits for the row. A wish of later than now was written under a wrong clock. */
export const isWanted = ({ wanted_at: wantedAt }: Pick<LeaseHolder, 'wanted_at'>, now: string): boolean =>
  Boolean(wantedAt) && String(wantedAt) <= later(now, wishMs) && later(String(wantedAt), wishMs) > now

/**
 * Another run holds the lease. `by`: a `listener` releases it on request, and `shards` end for a command that needs the
 * whole warehouse. `shards`: how many there are, if the holder is one.
 */
export class LeaseHeld extends Stop {
  constructor(
    message: string,
    hint: string,
    readonly by: 'run' | 'shards' | 'listener',
    readonly shards?: number | undefined,
  ) {
    super(message, { exitCode: 4, hint })
  }
}

/** `asked`: the row that somebody wanted to claim. */
export function heldBy(holder: LeaseHolder, asked: string, where: string): LeaseHeld {
  const shards = shardsOf(holder.name)
  const what = shards === undefined ? where : `shard ${holder.name} of ${where}`
  const isShard = shards !== undefined && asked === wholeName
  return new LeaseHeld(
    `Another run (${holder.command === 'full' ? 'sync --full' : (holder.command ?? 'unknown')}, ${holder.owner}) has held ${what} since ${holder.claimed_at}, on ${machineName(holder.host)}, pid ${holder.pid}`,
    `Wait for that run to end; if its process is gone, its lease expires by itself at ${holder.expires_at}`,
    holder.command === listenCommand ? 'listener' : isShard ? 'shards' : 'run',
    shards,
  )
}

/** Nobody holds the lease, but another command comes first. */
export const waitedFor = (where: string, command: string): LeaseHeld =>
  new LeaseHeld(
    `Another command is waiting for ${where}`,
    command === listenCommand
      ? 'The listener takes its turn afterwards'
      : 'Type the same command again when that command has ended',
    'run',
  )

/* The process that holds it: where it runs, and whether it has ended. */

/** The text that `read` returns. Empty if this system has no such file. */
function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/**
 * Host name, boot and pid namespace: within these three, a pid identifies one process. For a holder elsewhere, its pid
 * can't show that it is dead; its lease has to expire.
 */
export function thisMachine(): string {
  const boot = orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8))
  const namespace = orEmpty(() => readlinkSync('/proc/self/ns/pid').replace(/\D/g, ''))
  return [hostname(), boot, namespace].filter(Boolean).join('/')
}

/** The name of a holder's machine, for people: without what tells its boots and containers apart. */
export const machineName = (host: string | null): string => host?.split('/', 1)[0] ?? 'an unknown host'

/** Whether a process has ended but its parent hasn't collected its exit code: such a process still accepts signals. */
const isZombie = (pid: number): boolean =>
  /\) [ZX] /.test(orEmpty(() => readFileSync(`/proc/${pid}/stat`, 'utf8')))

/** Whether the holder's process is gone; this can only be known on the same machine. */
export function isDead(holder: { readonly host: string | null; readonly pid: Int64 | null }): boolean {
  if (holder.host !== thisMachine() || holder.pid === null) return false
  try {
    process.kill(Number(holder.pid), 0)
    return isZombie(Number(holder.pid))
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}
