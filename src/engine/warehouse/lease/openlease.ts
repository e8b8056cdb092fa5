/* How a command becomes the only writer of a warehouse, and waits for a listener that is. */
import { randomBytes } from 'node:crypto'
import type { Clock, Stamps } from '../../base/clock.js'
import type { Shard } from '../../base/shard.js'
import { fromMicros } from '../../base/timestamp.js'
import { eraseTraces, type Hidden, hideStored } from '../hiding/hiding.js'
import { mustHide } from '../hiding/privacystate.js'
import { briefly } from '../transaction.js'
import type { Warehouse, Writer } from '../warehouse.js'
import { LeaseHeld, leaseName, listenCommand, usualLeaseMs } from './holder.js'
import { claimLease, type Lease, type LeaseRequest, wantLease } from './lease.js'

/** Released at the end of the block that holds it: `await using lease = await openLease(…)`. */
export interface WriterLease extends AsyncDisposable {
  readonly runId: string
  /** The warehouse under the lease. */
  readonly warehouse: Writer
  /** Fires when the run should end or has lost the lease. */
  readonly signal: AbortSignal
  /** Fires when the run should end: it was told to, or another command needs the whole warehouse. */
  readonly asked: AbortSignal
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
/** Milliseconds to wait for shards: they hear of it within a heartbeat, and finish what they are storing. */
const usualPatience = 150_000
/** Milliseconds between two attempts, and so between two requests for the lease. */
const betweenAttempts = 500

/** What people are told while a lease is claimed. */
interface LeaseObserver {
  readonly warning?: ((message: string, fields: Readonly<Record<string, unknown>>) => void) | undefined
  /** `milliseconds`: for how long it may have to wait. */
  readonly waiting?: ((message: string, milliseconds: number) => void) | undefined
}

/**
 * Claims the lease. A listener holds it only until another command wants it, so no command exits with 4 because of one.
 * Shards end for a command that waits for all of them.
 */
async function claim(
  { warehouse, clock, signal, patience = usualPatience, observer }: LeaseNeeds,
  request: Omit<LeaseRequest, 'clock'>,
): Promise<Lease> {
  const began = clock.nowMicros()
  let isTold = false
  for (;;) {
    try {
      return await claimLease(warehouse, request)
    } catch (error) {
      if (!(error instanceof LeaseHeld) || request.command === listenCommand) throw error
      const most = error.by === 'listener' ? listenerPatience : error.by === 'shards' ? patience : 0
      const left = most - Number(clock.nowMicros() - began) / 1000
      if (left <= 0 || signal?.aborted) throw error
      if (error.by === 'shards' && !isTold) observer?.waiting?.(error.message, left)
      isTold ||= error.by === 'shards'
      await wantLease(warehouse, leaseName(request.shard))
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
const hideNow = (warehouse: Writer, clock: Clock, command: string): Promise<Hidden> =>
  warehouse.trying(async () => {
    const work = {
      dialect: warehouse.dialect,
      transact: briefly(warehouse),
      model: warehouse.model,
      interfered: warehouse.interfered,
      at: fromMicros(clock.nowMicros()),
    }
    warehouse.interfered.forgetUnchanged('privacy')
    const { done, left } = await hideStored(work)
    // It takes long, and as long as a program is always reading it is in vain: people type it.
    return { done, left: command === 'migrate' && left === null ? await eraseTraces(work) : left }
  })

interface LeaseNeeds {
  readonly warehouse: Writer
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
  /** For how many milliseconds it waits for shards to end; default 150,000. Of others, nobody waits for the end. */
  readonly patience?: number
  readonly observer?: LeaseObserver | undefined
}

const nothingHidden: Hidden = { done: [], left: null }

/** What was stored under less privacy is hidden before a shard begins, while nobody else writes. */
async function hideBefore(needs: LeaseNeeds, command: string): Promise<Hidden> {
  const { warehouse } = needs
  const isDue = await warehouse.trying(() => mustHide(warehouse))
  if (!isDue) return nothingHidden
  await using whole = await openLease({ ...needs, shard: undefined, patience: usualPatience }, command)
  return whole.hidden
}

/**
 * Becomes the only writer of the warehouse, or of a shard's tenants. Throws Stop with exit code 4 while another run
 * writes them, and with 2 if the warehouse has no shards.
 */
export async function openLease(needs: LeaseNeeds, command: string): Promise<WriterLease> {
  const { warehouse, clock, leaseMs = usualLeaseMs, signal, stamps, isBare, shard } = needs
  const { shapesRows = !isBare, observer } = needs
  if (shard && shard.of > 1) warehouse.dialect.file.refuseShards()
  const runId = newRunId(clock)
  const rowSettings = shapesRows ? warehouse.rowSettings : undefined
  let hidden = shard && rowSettings ? await hideBefore(needs, command) : nothingHidden
  const shaping = rowSettings && { rowSettings, model: warehouse.model }
  const request = { runId, command, leaseMs, stamps, isBare, shard, shaping }
  const lease = await claim(needs, request)
  const held = warehouse.under(lease, runId)
  try {
    await warehouse.learnRules()
    if (lease.hasForgotten) await (await import('../hiding/forgottenrecords.js')).readForgottenRecords(held)
    else Object.assign(warehouse.model.forgotten, { generation: 0, tenants: new Map(), histories: [] })
    if (rowSettings && !shard) hidden = await hideNow(held, clock, command)
  } catch (error) {
    await giveBack(warehouse, lease)
    throw error
  }
  if (lease.differing.length > 0)
    observer?.warning?.('Shards at work have other settings: each shapes the rows of its own tenants', {
      settings: lease.differing.join(', '),
    })
  const asked = AbortSignal.any([...(signal ? [signal] : []), lease.wanted])
  return {
    runId,
    hidden,
    warehouse: held,
    asked,
    signal: AbortSignal.any([asked, lease.lost]),
    throwIfLost: () => lease.lost.throwIfAborted(),
    [Symbol.asyncDispose]: () => giveBack(warehouse, lease),
  }
}
