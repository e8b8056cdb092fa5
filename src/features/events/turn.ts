/*
 * A turn of the listener: a short claim of the lease to work on the cursors that are due. It isn't a run: it requests
 * no authorizations unless told to, and does none of the housekeeping of planned runs.
 */
import { shardIndex } from '../../engine/base/shard.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { CursorHands } from '../../engine/run/cursorhands.js'
import { openRun } from '../../engine/run/run.js'
import type { Dependencies, WritingRun } from '../../engine/run/runcontext.js'
import { RunStats } from '../../engine/run/runstats.js'
import { lookAgain } from '../../engine/warehouse/layout/migrate.js'
import { LeaseHeld, listenCommand } from '../../engine/warehouse/lease/holder.js'
import { wishes } from '../../engine/warehouse/lease/lease.js'
import { openLease } from '../../engine/warehouse/lease/openlease.js'
import { checkSourceIdentity } from '../../engine/warehouse/state/sourceidentity.js'
import { dueCursors } from './events.js'
import type { Inbox } from './inbox.js'
import { Ringing } from './ringing.js'
import type { RingMemory, RingSettings } from './ringmemory.js'
import { readSynced } from './synced.js'

/** Milliseconds between two checks of the inbox, and of whether someone else wants the lease. */
const betweenLooks = 1000

/**
 * `wanted`: someone else is waiting for the lease. `window`: the rate limit's window, or what rings may use of it by now,
 * is used up; the next turn starts at `until`, in ms since the epoch.
 */
export type TurnEnd =
  | { readonly by: 'done' | 'wanted' | 'ended' }
  | { readonly by: 'window'; readonly until: number }

interface TurnNeeds {
  readonly deps: Dependencies
  readonly inbox: Inbox
  readonly settings: RingSettings
  readonly memory: RingMemory
  /** First request which tenants are granted. */
  readonly asksAuthorizations: boolean
}

/**
 * Takes a turn; while shards are at work, one for each other shard that something is due in, since shards at work ring
 * their own tenants. Throws LeaseHeld while someone else has the lease or is waiting for it.
 */
export async function takeTurn(needs: TurnNeeds): Promise<TurnEnd> {
  try {
    return await turnOf(needs)
  } catch (error) {
    if (!(error instanceof LeaseHeld) || error.shards === undefined) throw error
    return await turnsBeside(needs, error, error.shards)
  }
}

async function turnsBeside(needs: TurnNeeds, held: LeaseHeld, of: number): Promise<TurnEnd> {
  const { deps, inbox } = needs
  const all = Array.from({ length: of }, (_, index) => index)
  const due = await dueCursors(inbox, fromMicros(deps.clock.nowMicros()))
  const isDue = new Set(due.map(({ tenantId }) => shardIndex(tenantId, of)))
  let { asksAuthorizations } = needs
  let isHeld = false
  let end: TurnEnd | undefined
  for (const index of asksAuthorizations ? all : all.filter((one) => isDue.has(one))) {
    if (end && (end.by !== 'done' || !isDue.has(index))) continue
    try {
      end = await turnOf({ ...needs, asksAuthorizations, deps: { ...deps, shard: { index, of } } })
      asksAuthorizations = false
    } catch (error) {
      if (!(error instanceof LeaseHeld)) throw error
      isHeld = true
    }
  }
  if (!end) throw held
  // What is due in a shard at work is its own: to look again at once would be in vain.
  return isHeld && end.by === 'done' ? { by: 'wanted' } : end
}

async function turnOf({ deps, inbox, settings, memory, asksAuthorizations }: TurnNeeds): Promise<TurnEnd> {
  const { warehouse, config, shard } = deps
  await lookAgain(warehouse)
  await using lease = await openLease(deps, listenCommand)
  await checkSourceIdentity(warehouse, deps.source.address)
  // A request for the lease that was made while it was free comes from a process that has ended.
  const before = await wishes(warehouse, shard)
  const writing = { ...deps, ...lease, stats: new RunStats() }
  const { run, ask } = await openRun(writing, new Map())
  if (asksAuthorizations) await ask()
  const synced = await readSynced(config, warehouse)
  const hands = new CursorHands(new Map())
  await using ringing = new Ringing(run, hands, inbox, synced, settings, memory)
  for (;;) {
    const { waiting, inMs } = await ringing.look()
    const wanted = await wishes(warehouse, shard)
    // A ring may have ended meanwhile: nothing is awaited between these checks and what follows from them.
    ringing.throwIfFailed()
    lease.throwIfLost()
    if (deps.signal.aborted) return { by: 'ended' }
    if (wanted !== before) return { by: 'wanted' }
    const share = waiting > 0 && ringing.underWay === 0 ? ringing.restsUntil : undefined
    if (share !== undefined) return { by: 'window', until: share }
    if (ringing.underWay === 0 && (waiting === 0 || inMs > betweenLooks)) return { by: 'done' }
    const window = spentWindow(run)
    if (window !== undefined) return { by: 'window', until: window }
    const pause = new AbortController()
    const slept = deps.clock.sleep(
      Math.min(betweenLooks, Math.max(1, inMs)),
      AbortSignal.any([deps.signal, pause.signal]),
    )
    await (ringing.underWay > 0 ? Promise.race([slept, ringing.next()]) : slept)
    pause.abort()
  }
}

/** When the rate limit's window ends, in ms since the epoch, if nothing of it is left for us. */
function spentWindow({ source, clock }: WritingRun): number | undefined {
  const { window, isWaiting } = source.stats()
  if (!window || (window.remaining > 0 && !isWaiting)) return undefined
  return window.resetsAt > Number(clock.nowMicros() / 1000n) ? window.resetsAt : undefined
}
