import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Int64 } from '../../schema/resource.js'
import type { Clock } from '../clock.js'
import { Retry, Stop } from '../errors.js'
import { fromMicros, toMicros } from '../timestamp.js'
import type { Dialect, Session } from './dialect.js'

/** A run's claim on the warehouse. */
export interface Lease {
  /** Fencing token: checked in every commit. */
  readonly token: Int64
  /** Aborts when the lease turns out to be lost. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

export interface LeaseClaim {
  readonly runId: string
  readonly command: string
  readonly clock: Clock
  /** How long the lease lasts without a sign of life, in milliseconds. */
  readonly leaseMs: number
}

interface LeaseHolder {
  readonly token: Int64 | null
  readonly owner: string | null
  readonly host: string | null
  readonly pid: Int64 | null
  readonly command: string | null
  readonly claimed_at: string | null
  readonly expires_at: string | null
}

/**
 * This machine, as far as process ids mean anything on it: host name, boot and pid namespace. Only there may the death
 * of a holder be seen by its pid; elsewhere its lease has to expire.
 */
function thisMachine(): string {
  const parts = ['/proc/sys/kernel/random/boot_id'].map((path) => {
    try {
      return readFileSync(path, 'utf8').trim().slice(0, 8)
    } catch {
      return ''
    }
  })
  try {
    parts.push(readlinkSync('/proc/self/ns/pid').replace(/\D/g, ''))
  } catch {
    parts.push('')
  }
  return [hostname(), ...parts].filter(Boolean).join('/')
}

function isDead(holder: LeaseHolder): boolean {
  if (holder.host !== thisMachine() || holder.pid === null) return false
  try {
    process.kill(Number(holder.pid), 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

/** Our own: the commit of a claim was not heard of, and it is made again. */
const isFree = (holder: LeaseHolder, now: string, runId: string): boolean =>
  holder.owner === null ||
  holder.owner === runId ||
  holder.expires_at === null ||
  holder.expires_at <= now ||
  isDead(holder)

function held(holder: LeaseHolder, where: string): Stop {
  return new Stop(
    `Another run (${holder.command ?? 'unknown'}, ${holder.owner}) has held ${where} since ${holder.claimed_at}, on ${holder.host}, pid ${holder.pid}`,
    {
      exitCode: 4,
      hint: `Wait for it to end; if its process is gone, its lease expires by itself at ${holder.expires_at}`,
    },
  )
}

async function take(dialect: Dialect, session: Session, claim: LeaseClaim): Promise<Int64> {
  const { db } = dialect
  const free = {
    name: 'run',
    token: 0,
    owner: null,
    host: null,
    pid: null,
    command: null,
    claimed_at: null,
    expires_at: null,
  }
  await session.run(
    db
      .insertInto('sync_lease')
      .values(free)
      .onConflict((c) => c.doNothing())
      .compile(),
  )
  // The no-op update locks the row: of two claims at once, the second sees what the first has written.
  await session.run(db.updateTable('sync_lease').set({ name: 'run' }).where('name', '=', 'run').compile())
  const found = await session.run<LeaseHolder>(
    db.selectFrom('sync_lease').selectAll().where('name', '=', 'run').compile(),
  )
  const holder = found.rows[0]
  const now = await dialect.now(session, claim.clock)
  if (holder && !isFree(holder, now, claim.runId)) throw held(holder, dialect.where)
  const token = Number(holder?.token ?? 0) + 1
  const mine = {
    token,
    owner: claim.runId,
    host: thisMachine(),
    pid: process.pid,
    command: claim.command,
    claimed_at: now,
    expires_at: later(now, claim.leaseMs),
  }
  await session.run(db.updateTable('sync_lease').set(mine).where('name', '=', 'run').compile())
  return token
}

const later = (now: string, milliseconds: number): string =>
  fromMicros(toMicros(now) + BigInt(milliseconds) * 1000n)

/** Moves the expiry forward; false when somebody else holds the lease by now. */
const extend = (dialect: Dialect, claim: LeaseClaim, token: Int64): Promise<boolean> =>
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
export async function claimLease(dialect: Dialect, claim: LeaseClaim): Promise<Lease> {
  const token = await dialect.transaction((session) => take(dialect, session, claim))
  const lost = new AbortController()
  let beating = Promise.resolve()
  const beat = async (): Promise<void> => {
    try {
      if (await extend(dialect, claim, token)) return
      lost.abort(new Stop('The lease was taken by another run', { exitCode: 4 }))
    } catch (error) {
      // The warehouse may be away for a while; the fence in every commit decides, not the heartbeat.
      if (!(dialect.classify(error) instanceof Retry)) lost.abort(error)
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
            .set({ owner: null, host: null, pid: null, command: null, expires_at: null })
            .where('name', '=', 'run')
            .where('token', '=', token)
            .compile(),
        ),
      )
    },
  }
}
