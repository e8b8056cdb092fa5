/*
 * Everything shown about events, read in one place for status, why, the metrics and the alerts. It only reads an
 * existing inbox and never makes one.
 */

import type { Int64 } from '../../../schema/resource.js'
import { since } from '../../engine/base/format.js'
import { addMicros, fromMicros } from '../../engine/base/timestamp.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import type { CounterEntry } from '../../engine/warehouse/state/counters.js'
import type { CursorKey } from '../../engine/warehouse/state/cursors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import {
  countWaiting,
  cursorsWaiting,
  type EventRow,
  eventParts,
  isOwnEvent,
  openStates,
  outcomesSince,
  secondsBetween,
  waitingSince,
} from './events.js'
import type { Inbox } from './inbox.js'
import { readUnannounced, type Unannounced } from './unannounced.js'
import { type UnreadableInbox, watchInbox } from './watchinbox.js'

/** A program that receives or received events. */
export interface ListenerView {
  /** `lost`: it stopped giving signs of life without reporting its end. */
  readonly state: 'listening' | 'not_ready' | 'ended' | 'lost'
  readonly address: string
  readonly host: string
  readonly since: string
  /** Its last sign of life. */
  readonly seen_at: string
  readonly ended_at: string | null
  /** See sync_listeners.trouble. */
  readonly trouble: string | null
}

/** `events` of the JSON document of `shopsync status`. */
export interface EventsStatus {
  /** The one that started last, among the running ones if there are any. null: events were only copied here. */
  readonly listener: ListenerView | null
  readonly last_received_at: string | null
  readonly due_cursors: number
  readonly due_since: string | null
  /** Events that no walk has settled, due or not. */
  readonly waiting: number
  readonly today: {
    /** Midnight, UTC. */
    readonly since: string
    readonly received: number
    /** Of these, received more than once. */
    readonly received_again: number
    readonly settled: number
    /** The median of the newest ones; null if there are none. */
    readonly settled_after_seconds: number | null
    readonly deletions: number
  }
  /** Changes of the last 30 days for which an event could have come, and those without one. */
  readonly unannounced: readonly Unannounced[]
}

/** A listener silent for this many milliseconds has ended: it gives a sign of life every ten seconds. */
const silentMs = 60_000

/** All known listeners, newest first. */
export async function readListeners(inbox: Inbox, nowMicros: bigint): Promise<ListenerView[]> {
  const rows = await inbox.read((db) =>
    db.selectFrom('sync_listeners').selectAll().orderBy('up_at', 'desc').execute(),
  )
  return rows.map(({ address, host, up_at, seen_at, ended_at, trouble }) => {
    const isSilent = since(seen_at ?? '', nowMicros) > silentMs
    const isLiving = trouble === null ? 'listening' : 'not_ready'
    return {
      state: ended_at !== null ? 'ended' : isSilent ? 'lost' : isLiving,
      address: address ?? '',
      host: host ?? '',
      since: up_at ?? '',
      seen_at: seen_at ?? '',
      ended_at,
      trouble,
    }
  })
}

export const isLivingListener = ({ state }: ListenerView): boolean =>
  state === 'listening' || state === 'not_ready'

/** undefined if events have never been received here. */
export const readEventsStatus = (
  warehouse: Pick<Warehouse, 'dialect'>,
  nowMicros: bigint,
  { tenants, resources }: CursorChoice = { tenants: null, resources: null },
): Promise<EventsStatus | UnreadableInbox | undefined> =>
  watchInbox(warehouse, async (inbox) => {
    const listeners = await readListeners(inbox, nowMicros)
    const now = fromMicros(nowMicros)
    // An event of an unknown kind names no resource: it is counted whichever are chosen.
    const chosen = { tenants, resources: resources && ['', ...resources] }
    const due = await cursorsWaiting(inbox, 'due', addMicros(now, 1n), chosen)
    const [last] = await eventParts(inbox, ['received_at'], { ...chosen, order: 'desc', limit: 1 })
    return {
      listener: listeners.find(isLivingListener) ?? listeners[0] ?? null,
      last_received_at: last?.received_at ?? null,
      due_cursors: due.length,
      due_since: due[0]?.since ?? null,
      waiting: await countWaiting(inbox, chosen),
      today: await readToday(inbox, now, chosen),
      unannounced: await readUnannounced(inbox, now),
    }
  })

/** How many events are used for the median settling time. */
const mostMeasured = 2000

async function readToday(inbox: Inbox, now: string, chosen: CursorChoice): Promise<EventsStatus['today']> {
  const midnight = `${now.slice(0, 10)}T00:00:00.000000Z`
  const groups = await outcomesSince(inbox, midnight, chosen)
  // An event of an unknown kind makes no cursor due and has one row.
  const own = groups.filter(({ type, resource, state }) => state === 'unknown' || isOwnEvent(type, resource))
  const sum = (of: readonly { readonly events: Int64 }[]): number =>
    of.reduce((all, { events }) => all + Number(events), 0)
  return {
    since: midnight,
    received: sum(own),
    received_again: own.reduce((all, { again }) => all + Number(again ?? 0), 0),
    settled: sum(own.filter(({ state }) => !openStates.includes(state))),
    settled_after_seconds: await settledAfter(inbox, midnight, chosen),
    deletions: sum(own.filter(({ state }) => state === 'deleted')),
  }
}

async function settledAfter(inbox: Inbox, midnight: string, chosen: CursorChoice): Promise<number | null> {
  const rows = await eventParts(inbox, ['type', 'resource', 'received_at', 'settled_at'], {
    ...chosen,
    isOver: true,
    since: midnight,
    order: 'desc',
    limit: mostMeasured,
  })
  const took = rows
    .filter(({ type, resource }) => isOwnEvent(type, resource))
    .map(({ received_at, settled_at }) => secondsBetween(received_at, settled_at) ?? 0)
    .sort((a, b) => a - b)
  return took[Math.floor(took.length / 2)] ?? null
}

/** Of the last event that rang for a record. */
const lastEventColumns = [
  'event_id',
  'type',
  'action',
  'received_at',
  'state',
  'reason',
  'settled_at',
  'run_id',
] as const
export type LastEvent = Pick<EventRow, (typeof lastEventColumns)[number]>

export async function lastEventOf(
  inbox: Inbox,
  cursor: CursorKey,
  id: Int64 | null,
): Promise<LastEvent | null> {
  if (id === null) return null
  const filter = { announcing: cursor, records: [id], order: 'desc' } as const
  const [last] = await eventParts(inbox, lastEventColumns, filter)
  return last ?? null
}

/** What is counted of events over the lifetime of the warehouse. */
const lifetimeMetrics = ['received', 'settled', 'accept_seconds', 'settle_seconds'] as const

/** What the metrics show. */
export interface EventTotals {
  /** Rows of sync_event_counts: those of lifetimeMetrics. */
  readonly counts: readonly CounterEntry[]
  readonly waiting: number
  /** 0 if none waits. */
  readonly oldestSeconds: number
  readonly unannounced: readonly Unannounced[]
}

/** undefined if events have never been received here. */
export const readEventTotals = (
  warehouse: Pick<Warehouse, 'dialect'>,
  nowMicros: bigint,
): Promise<EventTotals | UnreadableInbox | undefined> =>
  watchInbox(warehouse, async (inbox) => {
    const rows = await inbox.read((db) =>
      db
        .selectFrom('sync_event_counts')
        .selectAll()
        .where('metric', 'in', lifetimeMetrics)
        .orderBy('metric')
        .orderBy('labels')
        .execute(),
    )
    const { waiting, oldest } = await waitingSince(inbox)
    const now = fromMicros(nowMicros)
    return {
      counts: rows.map(({ metric, labels, part, value }) => ({
        metric,
        part,
        value: Number(value ?? 0),
        labels: JSON.parse(labels) as CounterEntry['labels'],
      })),
      waiting,
      oldestSeconds: secondsBetween(oldest, now) ?? 0,
      unannounced: await readUnannounced(inbox, now),
    }
  })
