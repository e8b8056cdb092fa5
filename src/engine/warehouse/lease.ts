/**
 * The lease: one run writes at a time (docs/architecture.md, What else the engine rests on). warehouse.ts claims it for
 * commands that write; apply.ts checks its token in every commit.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Int64 } from '../../../schema/resource.js'
import type { Clock } from '../base/clock.js'
import { Retry, Skip, Stop } from '../base/errors.js'
import { fromMicros, toMicros } from '../base/timestamp.js'
import type { Reader } from './cursors.js'
import type { Dialect } from './dialect.js'
import type { Session } from './transaction.js'

/**
 * A run's claim on the warehouse.
 *
 * held:     the heartbeat moves the expiry forward four times per lease; every commit checks the token.
 * lost:     the lease expired and another run claimed it. Commits of this run fail from that claim on; `lost` aborts at
 *           the next heartbeat.
 * released: the heartbeat has stopped, and the next claim succeeds immediately.
 */
export interface Lease {
  /** Fencing token: every claim takes a higher one. */
  readonly token: Int64
  readonly lost: AbortSignal
  release(): Promise<void>
}

export interface LeaseRequest {
  readonly runId: string
  readonly command: string
  readonly clock: Clock
  /** How long the lease lasts without a heartbeat, in milliseconds. */
  readonly leaseMs: number
}

/** The row of `sync_lease`. */
interface LeaseHolder {
  readonly token: Int64 | null
  readonly owner: string | null
  readonly host: string | null
  readonly pid: Int64 | null
  readonly command: string | null
  readonly claimed_at: string | null
  readonly expires_at: string | null
  readonly wanted_at: string | null
}

/**
 * The command of a holder that follows the source's events (src/features/events). It releases the lease as soon as
 * another command wants it, since the next holder can do everything that it does.
 */
export const listenCommand = 'listen'

/** How long a request for the lease is valid, in milliseconds. A waiting command renews it once a second. */
const wishMs = 15_000

const nobody = { owner: null, host: null, pid: null, command: null, expires_at: null }

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
function thisMachine(): string {
  const boot = orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8))
  const namespace = orEmpty(() => readlinkSync('/proc/self/ns/pid').replace(/\D/g, ''))
  return [hostname(), boot, namespace].filter(Boolean).join('/')
}

/** Whether a process has ended but its parent hasn't collected its exit code: such a process still accepts signals. */
const isZombie = (pid: number): boolean =>
  /\) [ZX] /.test(orEmpty(() => readFileSync(`/proc/${pid}/stat`, 'utf8')))

/** Whether the holder's process is gone; this can only be known on the same machine. */
export function isDead(holder: Pick<LeaseHolder, 'host' | 'pid'>): boolean {
  if (holder.host !== thisMachine() || holder.pid === null) return false
  try {
    process.kill(Number(holder.pid), 0)
    return isZombie(Number(holder.pid))
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

const later = (now: string, milliseconds: number): string =>
  fromMicros(toMicros(now) + BigInt(milliseconds) * 1000n)

/** How long a lease lasts without a heartbeat, in milliseconds. */
export const usualLeaseMs = 60_000

/** How far a clock may be corrected under a live holder before its expiry is attributed to a wrong clock. */
const clockStepMs = 1000

/**
 * Whether a lease with that expiry is over now. An expiry further away than a lease lasts was written while a clock was
 * wrong, and doesn't count. A warehouse that nobody can write until that clock is right again was judged worse than
 * ending a live holder's run, which would move its expiry back within a quarter of a lease.
 */
export const isOver = (expiresAt: string | null, now: string, leaseMs = usualLeaseMs): boolean =>
  expiresAt === null || expiresAt <= now || expiresAt > later(now, leaseMs + clockStepMs)

/** A run may claim its own lease again, when it repeats a claim whose commit was not confirmed. */
const isFree = (holder: LeaseHolder, now: string, { runId, leaseMs }: LeaseRequest): boolean =>
  holder.owner === null || holder.owner === runId || isOver(holder.expires_at, now, leaseMs) || isDead(holder)

/** Another run holds the lease. `isListener`: it releases the lease on request. */
export class LeaseHeld extends Stop {
  constructor(
    message: string,
    hint: string,
    readonly isListener: boolean,
  ) {
    super(message, { exitCode: 4, hint })
  }
}

function heldBy(holder: LeaseHolder, where: string): LeaseHeld {
  return new LeaseHeld(
    `Another run (${holder.command === 'full' ? 'sync --full' : (holder.command ?? 'unknown')}, ${holder.owner}) has held ${where} since ${holder.claimed_at}, on ${holder.host}, pid ${holder.pid}`,
    `Wait for that run to end; if its process is gone, its lease expires by itself at ${holder.expires_at}`,
    holder.command === listenCommand,
  )
}

/** Whether a command other than a listener waits for the lease. */
const isWanted = ({ wanted_at: wantedAt }: Pick<LeaseHolder, 'wanted_at'>, now: string): boolean =>
  wantedAt !== null && wantedAt <= later(now, wishMs) && later(wantedAt, wishMs) > now

/** Records that a command waits for the lease, without changing who holds it. */
export const wantLease = (dialect: Dialect, clock: Clock): Promise<void> =>
  dialect.transaction(async (session) => {
    const at = await dialect.now(session, clock)
    await session.run(
      dialect.db.updateTable('sync_lease').set({ wanted_at: at }).where('name', '=', 'run').compile(),
    )
  })

async function take(dialect: Dialect, session: Session, claim: LeaseRequest): Promise<Int64> {
  const { db } = dialect
  await session.run(
    db
      .insertInto('sync_lease')
      .values({ name: 'run', token: 0, ...nobody, claimed_at: null })
      .onConflict((c) => c.doNothing())
      .compile(),
  )
  // The update changes nothing but locks the row: of two concurrent claims, the second one sees the first.
  await session.run(db.updateTable('sync_lease').set({ name: 'run' }).where('name', '=', 'run').compile())
  const found = await session.run<LeaseHolder>(
    db.selectFrom('sync_lease').selectAll().where('name', '=', 'run').compile(),
  )
  const holder = found.rows[0]
  const now = await dialect.now(session, claim.clock)
  if (holder && !isFree(holder, now, claim)) throw heldBy(holder, dialect.where)
  const isListener = claim.command === listenCommand
  if (holder && isListener && isWanted(holder, now))
    throw new LeaseHeld(
      `Another command is waiting for ${dialect.where}`,
      'The listener takes its turn afterwards',
      false,
    )
  const token = Number(holder?.token ?? 0) + 1
  const mine = {
    token,
    owner: claim.runId,
    host: thisMachine(),
    pid: process.pid,
    command: claim.command,
    claimed_at: now,
    expires_at: later(now, claim.leaseMs),
    // A warehouse of an older program, as `copy` finds it, doesn't have this column.
    ...(!isListener && holder?.wanted_at && { wanted_at: null }),
  }
  await session.run(db.updateTable('sync_lease').set(mine).where('name', '=', 'run').compile())
  return token
}

/** Moves the expiry forward. Returns false if another run has claimed the lease. */
const extend = (dialect: Dialect, claim: LeaseRequest, token: Int64): Promise<boolean> =>
  dialect.transaction(async (session) => {
    const expires = later(await dialect.now(session, claim.clock), claim.leaseMs)
    const update = dialect.db
      .updateTable('sync_lease')
      .set({ expires_at: expires })
      .where('name', '=', 'run')
      .where('token', '=', token)
    return (await session.run(update.compile())).affected === 1
  })

/** Claims the warehouse for one run; throws Stop with exit code 4 while another holds it. */
export async function takeLease(dialect: Dialect, claim: LeaseRequest): Promise<Lease> {
  const token = await dialect.transaction((session) => take(dialect, session, claim))
  const lost = new AbortController()
  let beating = Promise.resolve()
  const beat = async (): Promise<void> => {
    try {
      if (await extend(dialect, claim, token)) return
      lost.abort(new Stop('The lease was taken by another run', { exitCode: 4 }))
    } catch (error) {
      // A warehouse that is away, or too slow for a timeout, hasn't given the lease to another run: the next heartbeat
      // tries again.
      const classed = dialect.classify(error)
      if (!(classed instanceof Retry || classed instanceof Skip)) lost.abort(error)
    }
  }
  const timer = setInterval(() => {
    beating = beating.then(beat)
  }, claim.leaseMs / 4)
  timer.unref()
  return {
    token,
    lost: lost.signal,
    release: async () => {
      clearInterval(timer)
      await beating
      await dialect.transaction((session) =>
        session.run(
          dialect.db
            .updateTable('sync_lease')
            .set(nobody)
            .where('name', '=', 'run')
            .where('token', '=', token)
            .compile(),
        ),
      )
    },
  }
}

/** The row of the lease's holder. In it, a listener sees that another command wants the lease. */
export const lockHolder = (warehouse: Reader): Promise<LeaseHolder | undefined> =>
  warehouse.read((db) => db.selectFrom('sync_lease').selectAll().where('name', '=', 'run').executeTakeFirst())

/** Stops if another run holds the lease. Otherwise keeps every claim out until the transaction ends. */
export async function checkFence(
  { db, locksRows }: Pick<Dialect, 'db' | 'locksRows'>,
  session: Pick<Session, 'run'>,
  fence: Int64 | undefined,
): Promise<void> {
  if (fence === undefined) return
  const token = db.selectFrom('sync_lease').select('token').where('name', '=', 'run')
  const held = (await session.run((locksRows ? token.forShare() : token).compile())).rows[0]?.token
  if (held === fence) return
  throw new Stop(
    `Another run has taken over (its token is ${held}, ours is ${fence}); this page was not written`,
    {
      exitCode: 4,
      hint: 'This process was paused for longer than its lease lasts. Run the same command again when the other run has ended',
    },
  )
}
