/*
 * Problems with events that need attention: a listener that takes none or has ended, events that wait, records that no
 * list shows.
 */
import { addMicros, fromMicros } from '../../engine/base/timestamp.js'
import { readHolders, type StatusHolder } from '../../engine/run/lastrun.js'
import { listenCommand } from '../../engine/warehouse/lease/holder.js'
import type { CursorKey } from '../../engine/warehouse/state/cursors.js'
import { requestsOf } from '../../engine/warehouse/state/requests.js'
import { isAnyRun } from '../../engine/warehouse/state/runs.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { cursorsWaiting, endedFor } from './events.js'
import { isLivingListener, type ListenerView, readListeners } from './eventview.js'
import type { Inbox } from './inbox.js'
import { type UnreadableInbox, watchInbox } from './watchinbox.js'

export interface LateCursor extends CursorKey {
  /** When the oldest of its events should have been settled. */
  readonly since: string
}

/** A cursor's events with an unusual outcome within the last day. */
export interface OddEvents extends CursorKey {
  readonly amount: number
  /** When the first of them did. */
  readonly since: string
}

export interface EventTroubles {
  /** The running ones that report a problem, or the last one if it died without reporting. */
  readonly listeners: readonly ListenerView[]
  /** Longest wait first. */
  readonly late: readonly LateCursor[]
  /** Announced, and requested by id since no list showed them. */
  readonly notListed: readonly OddEvents[]
  /** Deletions that were too many to believe. */
  readonly left: readonly OddEvents[]
}

const dayMs = 86_400_000

/**
 * undefined if events have never been received here. `lateAfterMs`: after `due_at`; `runAfterMs`: how long an event left
 * to the next run may wait for it.
 */
export const readEventTroubles = (
  warehouse: Warehouse,
  {
    nowMicros,
    lateAfterMs,
    runAfterMs,
  }: { readonly nowMicros: bigint; readonly lateAfterMs: number; readonly runAfterMs: number },
): Promise<EventTroubles | UnreadableInbox | undefined> =>
  watchInbox(warehouse, async (inbox) => {
    const ago = (milliseconds: number): string =>
      addMicros(fromMicros(nowMicros), BigInt(milliseconds) * -1000n)
    const listeners = await readListeners(inbox, nowMicros)
    const living = listeners.filter(isLivingListener)
    const lost = listeners.slice(0, 1).filter(({ state }) => state === 'lost')
    const hasRun = await isAnyRun(warehouse, {
      withEvents: false,
      where: (eb) => eb('finished_at', '>=', ago(runAfterMs)),
    })
    const late = await lateCursors(inbox, 'due', { nowMicros, afterMs: lateAfterMs })
    // What is left to the next run is late only if none has ended since then.
    if (!hasRun) late.push(...(await lateCursors(inbox, 'left', { nowMicros, afterMs: runAfterMs })))
    return {
      listeners: [...lost, ...living.filter(({ state }) => state === 'not_ready')],
      late: await notInHand(warehouse, late, { nowMicros, since: ago(lateAfterMs) }),
      ...(await oddEvents(inbox, ago(dayMs))),
    }
  })

/** Cursors whose events have waited for longer than that. */
async function lateCursors(
  inbox: Inbox,
  how: 'due' | 'left',
  { nowMicros, afterMs }: { readonly nowMicros: bigint; readonly afterMs: number },
): Promise<LateCursor[]> {
  const after = BigInt(afterMs) * 1000n
  const rows = await cursorsWaiting(inbox, how, fromMicros(nowMicros - after))
  return rows.map(({ tenant_id, resource, since }) => ({
    tenantId: tenant_id,
    resource,
    since: addMicros(since, after),
  }))
}

/**
 * Leaves out the cursors that the current runs have requested recently: their events are settled when these are done with
 * them.
 */
async function notInHand(
  warehouse: Warehouse,
  late: readonly LateCursor[],
  { nowMicros, since }: { readonly nowMicros: bigint; readonly since: string },
): Promise<LateCursor[]> {
  const holders = late.length > 0 ? await warehouse.read((db) => readHolders(db, nowMicros)) : []
  const runs = holders.filter(({ command }) => command !== listenCommand)
  if (runs.length === 0) return late.toSorted(byAge)
  const inHand = await cursorsOf(warehouse, runs, since)
  return late.filter(({ tenantId, resource }) => !inHand.has(`${tenantId} ${resource}`)).sort(byAge)
}

const byAge = (a: LateCursor, b: LateCursor): number => (a.since < b.since ? -1 : 1)

async function cursorsOf(
  warehouse: Warehouse,
  holders: readonly StatusHolder[],
  since: string,
): Promise<ReadonlySet<string>> {
  const rows = await warehouse.read((db) =>
    requestsOf(
      db,
      holders.map(({ run_id }) => run_id),
    )
      .select(['tenant_id', 'resource'])
      .distinct()
      .where('synced_at', '>=', since)
      .execute(),
  )
  return new Set(rows.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`))
}

/** Events that ended since then in one of two ways that need attention. */
async function oddEvents(inbox: Inbox, since: string): Promise<Pick<EventTroubles, 'notListed' | 'left'>> {
  const rows = await endedFor(inbox, ['not_listed', 'breaker'], since)
  const of = (wanted: string): OddEvents[] =>
    rows
      .filter(({ state }) => state === wanted)
      .map(({ tenant_id, resource, amount, since: first }) => ({
        tenantId: tenant_id,
        resource,
        amount: Number(amount),
        since: first,
      }))
  return { notListed: of('settled'), left: of('left') }
}
