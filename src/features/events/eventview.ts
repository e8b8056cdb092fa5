/*
 * Everything shown about events, read in one place for status, why, the metrics and the alerts. It only reads an
 * existing inbox and never makes one.
 */

import type { Int64 } from '../../../schema/resource.js'
import { since } from '../../engine/base/format.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import type { CounterEntry } from '../../engine/warehouse/state/counters.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { isOwnEvent } from './counts.js'
import type { Inbox } from './inbox.js'
import type { EventDb } from './tables.js'
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
  chosen: CursorChoice = { tenants: null, resources: null },
): Promise<EventsStatus | UnreadableInbox | undefined> =>
  watchInbox(warehouse, async (inbox) => {
    const listeners = await readListeners(inbox, nowMicros)
    const now = fromMicros(nowMicros)
    const due = await inbox.read((db) =>
      chosenEvents(db, chosen)
        .select(['tenant_id', 'resource'])
        .select((eb) => eb.fn.min<string | null>('due_at').as('since'))
        .where('state', '=', 'waiting')
        .where('due_at', '<=', now)
        .groupBy(['tenant_id', 'resource'])
        .orderBy('since')
        .execute(),
    )
    const last = await inbox.read((db) =>
      chosenEvents(db, chosen)
        .select((eb) => eb.fn.max<string | null>('received_at').as('at'))
        .executeTakeFirst(),
    )
    const waiting = await inbox.read((db) =>
      chosenEvents(db, chosen)
        .select((eb) => eb.fn.countAll<Int64>().as('n'))
        .where('state', '=', 'waiting')
        .executeTakeFirst(),
    )
    return {
      listener: listeners.find(isLivingListener) ?? listeners[0] ?? null,
      last_received_at: last?.at ?? null,
      due_cursors: due.length,
      due_since: due[0]?.since ?? null,
      waiting: Number(waiting?.n ?? 0),
      today: await readToday(inbox, now, chosen),
      unannounced: await readUnannounced(inbox, now),
    }
  })

/** A ring by hand isn't an event. */
const chosenEvents = (db: EventDb, { tenants, resources }: CursorChoice) =>
  db
    .selectFrom('sync_events')
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', [0, ...(tenants ?? [])]))
    .$if(resources !== null, (query) => query.where('resource', 'in', ['', ...(resources ?? [])]))

/** How many events are used for the median settling time. */
const mostMeasured = 2000

async function readToday(inbox: Inbox, now: string, chosen: CursorChoice): Promise<EventsStatus['today']> {
  const midnight = `${now.slice(0, 10)}T00:00:00.000000Z`
  const groups = await inbox.read((db) =>
    chosenEvents(db, chosen)
      .select(['type', 'resource', 'state'])
      .select((eb) => [
        eb.fn.countAll<Int64>().as('events'),
        eb.fn.sum<Int64 | null>(eb.case().when('deliveries', '>', 1).then(1).else(0).end()).as('again'),
      ])
      .where('received_at', '>=', midnight)
      .groupBy(['type', 'resource', 'state'])
      .execute(),
  )
  // An event of an unknown kind makes no cursor due and has one row.
  const own = groups.filter(({ type, resource, state }) => state === 'unknown' || isOwnEvent(type, resource))
  const sum = (of: readonly { readonly events: Int64 }[]): number =>
    of.reduce((all, { events }) => all + Number(events), 0)
  const isOver = ({ state }: { readonly state: string | null }): boolean =>
    state !== 'waiting' && state !== 'ignored' && state !== 'unknown'
  return {
    since: midnight,
    received: sum(own),
    received_again: own.reduce((all, { again }) => all + Number(again ?? 0), 0),
    settled: sum(own.filter(isOver)),
    settled_after_seconds: await settledAfter(inbox, midnight, chosen),
    deletions: sum(own.filter(({ state }) => state === 'deleted')),
  }
}

async function settledAfter(inbox: Inbox, midnight: string, chosen: CursorChoice): Promise<number | null> {
  const rows = await inbox.read((db) =>
    chosenEvents(db, chosen)
      .select(['type', 'resource', 'received_at', 'settled_at'])
      .where('received_at', '>=', midnight)
      .where('state', 'not in', ['waiting', 'ignored', 'unknown'])
      .orderBy('received_at', 'desc')
      .limit(mostMeasured)
      .execute(),
  )
  const took = rows
    .filter(({ type, resource }) => isOwnEvent(type, resource))
    .map(({ received_at, settled_at }) => secondsBetween(received_at, settled_at) ?? 0)
    .sort((a, b) => a - b)
  return took[Math.floor(took.length / 2)] ?? null
}

/** The receiver may be another machine whose clock is ahead. */
export const secondsBetween = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : Math.max(0, Number(toMicros(to) - toMicros(from)) / 1e6)

/** The last event that rang for a record. */
export interface LastEvent {
  readonly event_id: string
  readonly type: string | null
  readonly action: string | null
  readonly received_at: string | null
  readonly state: string | null
  readonly reason: string | null
  readonly settled_at: string | null
  readonly run_id: string | null
}

export async function lastEventOf(
  inbox: Inbox,
  {
    tenantId,
    resource,
    id,
  }: { readonly tenantId: Int64; readonly resource: string; readonly id: Int64 | null },
): Promise<LastEvent | null> {
  if (id === null) return null
  const rows = await inbox.read((db) =>
    db
      .selectFrom('sync_events')
      .select(['event_id', 'type', 'action', 'received_at', 'state', 'reason', 'settled_at', 'run_id'])
      .where('tenant_id', '=', tenantId)
      .where('resource', '=', resource)
      .where('record_id', '=', id)
      .orderBy('received_at', 'desc')
      .execute(),
  )
  // If another resource's events make a list due, their ids are those of other records.
  return rows.find(({ type }) => isOwnEvent(type, resource)) ?? null
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
    const waiting = await inbox.read((db) =>
      db
        .selectFrom('sync_events')
        .select((eb) => [
          eb.fn.countAll<Int64>().as('n'),
          eb.fn.min<string | null>('received_at').as('oldest'),
        ])
        .where('state', '=', 'waiting')
        .executeTakeFirst(),
    )
    const now = fromMicros(nowMicros)
    return {
      counts: rows.map(({ metric, labels, part, value }) => ({
        metric,
        part,
        value: Number(value ?? 0),
        labels: JSON.parse(labels) as CounterEntry['labels'],
      })),
      waiting: Number(waiting?.n ?? 0),
      oldestSeconds: secondsBetween(waiting?.oldest ?? null, now) ?? 0,
      unannounced: await readUnannounced(inbox, now),
    }
  })
