/* How a command becomes the only writer of a warehouse, and waits for a listener that is. */
import { randomBytes } from 'node:crypto'
import type { Clock, Stamps } from '../base/clock.js'
import type { Shard } from '../base/shard.js'
import { fromMicros } from '../base/timestamp.js'
import { eraseTraces, type Hidden, hideStored } from './hiding.js'
import {
  claimLease,
  type Lease,
  LeaseHeld,
  type LeaseRequest,
  listenCommand,
  usualLeaseMs,
  wantLease,
} from './lease.js'
import type { Warehouse } from './warehouse.js'

/** Released at the end of the block that holds it: `await using lease = await openLease(…)`. */
export interface WriterLease extends AsyncDisposable {
  readonly runId: string
  /** The warehouse under the lease. */
  readonly warehouse: Warehouse
  /** Fires when the run should end or has lost the lease. */
  readonly signal: AbortSignal
  /** Work that ended because the lease was lost has failed, whatever it returned. Call this before using its result. */
  throwIfLost(): void
  /** What was hidden first, since `privacy` hides more than before. */
  readonly hidden: Hidden
}

/** Sortable by time, and unique: `20260102T030405-1f2e3d`. */
const newRunId = (clock: Clock): string =>
  `${fromMicros(clock.nowMicros()).slice(0, 19).replace(/[-:]/g, '')}-${randomBytes(3).toString('hex')}`

/** Milliseconds to wait for a listener: it releases the lease within 10 seconds, and a dead one loses it within 60. */
const listenerPatience = 90_000
/** Milliseconds between two attempts, and so between two requests for the lease. */
const betweenAttempts = 500

/**
 * Claims the lease. A listener holds it only until another command wants it, so no command exits with 4 because of one.
 */
async function claim(
  {
    warehouse,
    clock,
    signal,
  }: {
    readonly warehouse: Warehouse
    readonly clock: Clock
    readonly signal: AbortSignal | undefined
  },
  request: Omit<LeaseRequest, 'clock'>,
): Promise<Lease> {
  const until = clock.nowMicros() + BigInt(listenerPatience) * 1000n
  for (;;) {
    try {
      return await claimLease(warehouse, request)
    } catch (error) {
      const isWaiting = error instanceof LeaseHeld && error.isListener && request.command !== listenCommand
      if (!isWaiting || clock.nowMicros() >= until || signal?.aborted) throw error
      await wantLease(warehouse)
      await clock.sleep(betweenAttempts, signal)
    }
  }
}

/**
 * Releases a lease. A failure is ignored: the lease expires by itself, and hiding the error of the work that held it, or
 * calling finished work failed, would be worse. It doesn't wait again for a database that is known to be away.
 */
async function giveBack({ retryPolicy }: Warehouse, { release }: Lease): Promise<void> {
  const released = release().catch(() => {})
  if (!retryPolicy.hasGivenUp) await retryPolicy.bounded(released).catch(() => {})
}

/** Before anything else is done under a lease: what was stored under less privacy. */
const hideNow = (warehouse: Warehouse, clock: Clock, command: string): Promise<Hidden> =>
  warehouse.trying(async () => {
    const work: Parameters<typeof hideStored>[0] = {
      dialect: warehouse.dialect,
      transact: (statements) => warehouse.transaction(statements),
      hides: warehouse.model,
      at: fromMicros(clock.nowMicros()),
    }
    const { done, left } = await hideStored(work)
    // It takes long, and as long as a program is always reading it is in vain: people type it.
    return { done, left: command === 'migrate' && left === null ? await eraseTraces(work) : left }
  })

/** Becomes the only writer of the warehouse. Throws Stop with exit code 4 while another run writes. */
export async function openLease(
  {
    warehouse,
    clock,
    leaseMs = usualLeaseMs,
    signal,
    stamps,
    isBare,
    shard,
    shapesRows = !isBare,
  }: {
    readonly warehouse: Warehouse
    readonly clock: Clock
    /** How long the lease lasts without being renewed, in milliseconds; default 60,000. */
    readonly leaseMs?: number
    /** Fires when the work should end. */
    readonly signal?: AbortSignal
    /** The stamps of its requests: they begin after everything on record. */
    readonly stamps?: Stamps
    /** The warehouse may be an older program's, or have no table but the lease. */
    readonly isBare?: boolean
    /** The part of the tenants that is claimed. undefined: the whole warehouse. */
    readonly shard?: Shard | undefined
    /**
     * false: it stores no row that the configuration shapes. Such work neither fails because of another configuration nor
     * makes its own the one that others must have.
     */
    readonly shapesRows?: boolean
  },
  command: string,
): Promise<WriterLease> {
  const runId = newRunId(clock)
  const rowSettings = shapesRows ? warehouse.rowSettings : undefined
  const request = { runId, command, leaseMs, stamps, isBare, shard, rowSettings }
  const lease = await claim({ warehouse, clock, signal }, request)
  const held = warehouse.under(lease, runId)
  let hidden: Hidden = { done: [], left: null }
  try {
    await warehouse.learnRules()
    if (lease.hasForgotten) await (await import('./forgottensets.js')).readForgottenRecords(held)
    else Object.assign(warehouse.model.forgotten, { generation: 0, tenants: new Map(), histories: [] })
    if (rowSettings) hidden = await hideNow(held, clock, command)
  } catch (error) {
    await giveBack(warehouse, lease)
    throw error
  }
  return {
    runId,
    hidden,
    warehouse: held,
    signal: signal ? AbortSignal.any([signal, lease.lost]) : lease.lost,
    throwIfLost: () => lease.lost.throwIfAborted(),
    [Symbol.asyncDispose]: () => giveBack(warehouse, lease),
  }
}
