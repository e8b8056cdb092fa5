/*
 * The received events, one row for each cursor that an event makes due. No other file's statements read or write
 * sync_events. A large inbox has millions of rows: who needs a few columns of many rows asks for these.
 */
import {
  type CompiledQuery,
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type SqlBool,
  sql,
} from 'kysely'
import { resources } from '../../../schema/index.js'
import type { Int64 } from '../../../schema/resource.js'
import { inParts } from '../../engine/base/parts.js'
import type { Shard } from '../../engine/base/shard.js'
import { addMicros, toMicros } from '../../engine/base/timestamp.js'
import type { RowsOf } from '../../engine/model/statetable.js'
import { type CursorKey, cursorColumns, cursorName, rowName } from '../../engine/warehouse/state/cursors.js'
import { isOfShard } from '../../engine/warehouse/state/shardsql.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import { EventCounts, settleRanges, writeEventCounts } from './counts.js'
import { type EventDb, eventTables } from './tables.js'

/** An event of a cursor: its row, whose columns tables.ts explains. */
export type EventRow = Readonly<RowsOf<typeof eventTables>['sync_events']>

/** The inbox (inbox.ts), as statements need it. */
interface OpenInbox extends Pick<Writer, 'write' | 'transaction'> {
  readonly db: EventDb
  read<T>(work: (db: EventDb) => Promise<T>): Promise<T>
}

/** Whether an event makes its own cursor due, rather than one of `events.also`. A ring by hand isn't an event. */
export const isOwnEvent = (type: string | null, resource: string): boolean =>
  type !== null && resources[resource]?.entity === type

/** How many digits of a canonical timestamp's fraction are significant. */
const digitsOf = (time: string): number => time.slice(20, 26).replace(/0+$/, '').length

/**
 * Whether a version is older than an announced one, at the coarser precision of the two: a list may print its times
 * with fewer digits than an event does, or vice versa.
 */
export function isOlder(version: string, announced: string): boolean {
  const digits = Math.min(digitsOf(version), digitsOf(announced))
  const cut = (time: string): string => time.slice(0, 20 + digits)
  return cut(version) < cut(announced)
}

/** The receiver may be another machine whose clock is ahead. */
export const secondsBetween = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : Math.max(0, Number(toMicros(to) - toMicros(from)) / 1e6)

/* Reading. */

/** No walk has settled these: they wait, or never waited. */
export const openStates: readonly (string | null)[] = ['waiting', 'ignored', 'unknown']

/** All events, but for what is said. Times are canonical. */
interface EventFilter {
  readonly tenants?: readonly Int64[] | null | undefined
  /** Never an empty list. */
  readonly resources?: readonly string[] | null | undefined
  /** Those that announced records of this cursor. If others make it due, their ids are those of other records. */
  readonly announcing?: CursorKey | undefined
  readonly records?: readonly Int64[] | undefined
  readonly eventId?: string | undefined
  readonly state?: string | undefined
  /** Those that are in none of `openStates`. */
  readonly isOver?: true | undefined
  /** Received at this instant or later. */
  readonly since?: string | undefined
  /** Those that are due at this instant: see `isDueNow`. */
  readonly dueNow?: string | undefined
  /** By the time of their receipt. */
  readonly order?: 'asc' | 'desc' | undefined
  readonly limit?: number | undefined
}

function chosen(db: EventDb, filter: EventFilter) {
  const {
    tenants,
    resources: names,
    announcing,
    records,
    eventId,
    state,
    isOver,
    since,
    dueNow,
    order,
    limit,
  } = filter
  let query = db.selectFrom('sync_events')
  if (state !== undefined) query = query.where('state', '=', state)
  if (isOver) query = query.where('state', 'not in', openStates)
  if (dueNow !== undefined) query = query.where((eb) => isDueNow(eb, dueNow))
  if (announcing)
    query = query
      .where((eb) => eb.and(cursorColumns(announcing)))
      .where('type', '=', resources[announcing.resource]?.entity ?? null)
  // SQL has no empty lists, and no event of a tenant 0 is ever stored.
  if (tenants) query = query.where('tenant_id', 'in', [0, ...tenants])
  if (names) query = query.where('resource', 'in', names)
  if (since !== undefined) query = query.where('received_at', '>=', since)
  if (records) query = query.where('record_id', 'in', records)
  if (eventId !== undefined) query = query.where('event_id', '=', eventId)
  if (order) query = query.orderBy('received_at', order)
  // People are shown these: every database has to list them alike.
  if (order === 'desc') query = query.orderBy('event_id').orderBy('resource')
  return limit === undefined ? query : query.limit(limit)
}

/** Whole events. */
export const listEvents = (inbox: OpenInbox, filter: EventFilter): Promise<EventRow[]> =>
  inbox.read((db) => chosen(db, filter).selectAll().execute())

/** These columns of them. */
export const eventParts = <K extends keyof EventRow>(
  inbox: OpenInbox,
  columns: readonly K[],
  filter: EventFilter,
): Promise<Pick<EventRow, K>[]> =>
  inbox.read((db) => chosen(db, filter).select(columns).$castTo<Pick<EventRow, K>>().execute())

/** A cursor's waiting events, oldest first. */
export const waitingOf = (inbox: OpenInbox, key: CursorKey): Promise<EventRow[]> =>
  inbox.read((db) =>
    chosen(db, { state: 'waiting', order: 'asc' })
      .selectAll()
      .where((eb) => eb.and(cursorColumns(key)))
      .execute(),
  )

const waitingCount = (db: EventDb, filter: EventFilter) =>
  chosen(db, { ...filter, state: 'waiting' }).select((eb) => eb.fn.countAll<Int64>().as('n'))

/** How many events wait. */
export async function countWaiting(inbox: OpenInbox, filter: EventFilter = {}): Promise<number> {
  const row = await inbox.read((db) => waitingCount(db, filter).executeTakeFirst())
  return Number(row?.n ?? 0)
}

/** The same, and since when the oldest one does: for that, a database looks at each of them. */
export async function waitingSince(inbox: OpenInbox): Promise<{ waiting: number; oldest: string | null }> {
  const row = await inbox.read((db) =>
    waitingCount(db, {})
      .select((eb) => eb.fn.min<string | null>('received_at').as('oldest'))
      .executeTakeFirst(),
  )
  return { waiting: Number(row?.n ?? 0), oldest: row?.oldest ?? null }
}

/** What has become of the events that were received since then. */
export const outcomesSince = (inbox: OpenInbox, since: string, filter: EventFilter) =>
  inbox.read((db) =>
    chosen(db, { ...filter, since })
      .select(['type', 'resource', 'state'])
      .select((eb) => [
        eb.fn.countAll<Int64>().as('events'),
        eb.fn.sum<Int64 | null>(eb.case().when('deliveries', '>', 1).then(1).else(0).end()).as('again'),
      ])
      .groupBy(['type', 'resource', 'state'])
      .execute(),
  )

/** Events that ended since then for one of these reasons. These are rare, so the query searches the table by them. */
export const endedFor = (inbox: OpenInbox, reasons: readonly string[], since: string) =>
  inbox.read((db) =>
    chosen(db, {})
      .select(['tenant_id', 'resource', 'state'])
      .select((eb) => [eb.fn.countAll<Int64>().as('amount'), eb.fn.min<string>('settled_at').as('since')])
      .where('reason', 'in', reasons)
      .where('settled_at', '>=', since)
      .groupBy(['tenant_id', 'resource', 'state'])
      .execute(),
  )

/* Reading which cursors have waiting events. */

/**
 * Why an event waits after its cursor's walk was ended before its end. Without `due_at`, it is left to the next run, and
 * so is the cursor: what comes meanwhile doesn't ring it.
 */
export const cutShort = 'cut_short'

/** No pause is longer, in microseconds. */
const longestPause = 600_000_000n

/** From when on a `due_at` is void: a host whose clock is ahead has written it. */
export const voidFrom = (now: string): string => addMicros(now, longestPause)

/** Whether an event is due. One that was never looked for is due at once: its receiver's clock may differ. */
const isDueNow = (
  eb: ExpressionBuilder<{ readonly sync_events: EventRow }, 'sync_events'>,
  now: string,
): Expression<SqlBool> =>
  eb.or([
    eb('due_at', '<=', now),
    eb('due_at', '>', voidFrom(now)),
    eb('tries', '=', 0),
    eb('tries', 'is', null),
  ])

/** Since when events have waited: those with a time, or those that are left to the next run. */
const waitsSince = { due: 'due_at', left: 'received_at' } as const

/** Cursors with events that wait in one of these ways, longest wait first. */
function waitingCursors(db: EventDb, how: 'due' | 'left', filter: EventFilter) {
  const cursors = chosen(db, { ...filter, state: 'waiting' })
    .select(['tenant_id', 'resource'])
    .select((eb) => eb.fn.min<string>(waitsSince[how]).as('since'))
    .groupBy(['tenant_id', 'resource'])
    .orderBy('since')
  return how === 'left' ? cursors.where('due_at', 'is', null) : cursors
}

/** Cursors with events that have waited since before that moment. */
export const cursorsWaiting = (
  inbox: OpenInbox,
  how: 'due' | 'left',
  before: string,
  filter: EventFilter = {},
) => inbox.read((db) => waitingCursors(db, how, filter).where(waitsSince[how], '<', before).execute())

export interface DueCursor extends CursorKey {
  /** Since when its oldest event has been due. */
  readonly since: string
  /** How many of its own records events announced; 0 if only other resources' events made it due. */
  readonly announced: number
}

/** Cursors at once. */
const mostCursors = 500

/**
 * The due cursors, of all tenants or of a shard's, longest wait first. A cursor that was never rung is due at once: its
 * receiver's clock may differ.
 */
export const dueCursors = async (inbox: OpenInbox, now: string, shard?: Shard): Promise<DueCursor[]> => {
  // Only a run reads these, since their rings were cut short.
  const left = await inbox.read((db) =>
    waitingCursors(db, 'left', {}).where('reason', '=', cutShort).execute(),
  )
  const rows = await inbox.read((db) =>
    waitingCursors(db, 'due', { dueNow: now })
      .select('type')
      .select((eb) => eb.fn.count<number>('record_id').distinct().as('records'))
      .where(isOfShard(sql.ref('tenant_id'), shard))
      .groupBy('type')
      .limit(mostCursors + left.length)
      .execute(),
  )
  const isLeft = new Set(left.map(rowName))
  const found = new Map<string, DueCursor>()
  for (const { tenant_id: tenantId, resource, type, since, records } of rows) {
    const name = cursorName({ tenantId, resource })
    if (isLeft.has(name)) continue
    const { since: first = since, announced = 0 } = found.get(name) ?? {}
    const own = isOwnEvent(type, resource) ? Number(records) : 0
    found.set(name, { tenantId, resource, since: first, announced: announced + own })
  }
  return [...found.values()]
}

/* Writing. */

/** An event's key, and how often it was received. */
export type Delivered = Pick<EventRow, (typeof eventTables)['sync_events']['key'][number] | 'deliveries'>

/** Stores events, each of them once. Returns how often each has been received so far. */
export function insertEvents(db: EventDb, rows: readonly Insertable<EventRow>[]): CompiledQuery<Delivered> {
  const { key } = eventTables.sync_events
  return db
    .insertInto('sync_events')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns([...key]).doUpdateSet({
        deliveries: sql<number>`sync_events.deliveries + excluded.deliveries`,
      }),
    )
    .returning([...key, 'deliveries'])
    .compile()
}

/** Deletes what was settled before that time. What waits is not settled. */
export const pruneEvents = (db: EventDb, before: string): CompiledQuery =>
  db.deleteFrom('sync_events').where('settled_at', '<', before).compile()

export const deleteAllEvents = (db: EventDb): CompiledQuery => db.deleteFrom('sync_events').compile()

/** The outcome of an event. */
export interface Settled {
  readonly state: 'settled' | 'deleted' | 'exists' | 'unseen' | 'ignored' | 'left'
  /** Why, if it isn't obvious. */
  readonly reason?: string
}

/**
 * The ids alone name events of other records and cursors, too, but the index of the key finds them. The rest is written
 * in a way that no other index has: a database may otherwise read all that waits for the cursor, for each statement.
 */
const waitingAmong = (db: EventDb, rows: readonly EventRow[]) =>
  db
    .updateTable('sync_events')
    .where('tenant_id', '=', rows[0]?.tenant_id ?? 0)
    .where(
      'event_id',
      'in',
      rows.map(({ event_id }) => event_id),
    )
    .where(wholeKey, 'in', rows.map(wholeKeyOf))
    .where((eb) => eb(eb.fn.coalesce('state', sql.lit('')), '=', 'waiting'))

/** What waits has a type and an action of the document, or none: there are no spaces in them. */
const wholeKey = sql<string>`record_id || ' ' || action || ' ' || type || ' ' || resource || ' ' || event_id`
const wholeKeyOf = ({ record_id, action, type, resource, event_id }: EventRow): string =>
  `${record_id} ${action} ${type} ${resource} ${event_id}`

/** Settles events of one cursor, and counts them. `at`: canonical timestamp. */
export async function settleEvents(
  inbox: OpenInbox,
  rows: readonly EventRow[],
  { state, reason, runId, at }: Settled & { readonly runId: string | null; readonly at: string },
): Promise<void> {
  const [first] = rows
  if (!first) return
  const { resource } = first
  for (const part of inParts(rows)) {
    const columns = { state, reason: reason ?? null, run_id: runId, settled_at: at, due_at: null }
    const settle = waitingAmong(inbox.db, part).set(columns).returning(['type', 'received_at']).compile()
    await settleCounted(inbox, settle, { resource, state, at })
  }
}

/**
 * Events that someone else has settled meanwhile aren't among the rows returned by the statement, so they aren't
 * counted twice.
 */
const settleCounted = (
  inbox: OpenInbox,
  settle: CompiledQuery<Pick<EventRow, 'type' | 'received_at'>>,
  how: { readonly resource: string; readonly state: Settled['state']; readonly at: string },
): Promise<void> =>
  inbox.transaction(async (session) => {
    const { rows } = await session.run(settle)
    const counts = countsOf(rows, how).take()
    for (const statement of writeEventCounts(inbox.db, counts)) await session.run(statement)
  })

/** What is counted of events of one cursor that are settled at that time. */
function countsOf(
  rows: readonly Pick<EventRow, 'type' | 'received_at'>[],
  { resource, state, at }: Parameters<typeof settleCounted>[2],
): EventCounts {
  const counts = new EventCounts()
  for (const { type, received_at } of rows) {
    if (type === null || type === '') continue
    counts.add('settled', { resource, state })
    const took = secondsBetween(received_at, at)
    if (took !== null && isOwnEvent(type, resource)) counts.observe('settle_seconds', took, settleRanges)
  }
  return counts
}

/** Lets events of one cursor wait for a later walk. */
export async function waitAgain(
  inbox: OpenInbox,
  rows: readonly EventRow[],
  {
    reason,
    tries,
    dueAt,
  }: { readonly reason: string; readonly tries: number; readonly dueAt: string | null },
): Promise<void> {
  for (const part of inParts(rows))
    await inbox.write([waitingAmong(inbox.db, part).set({ reason, tries, due_at: dueAt }).compile()])
}

/** Events of cursors that aren't synced are answered and left alone. */
export const ignoreEvents = (
  inbox: OpenInbox,
  { tenantId, resource }: CursorKey,
  { reason, at }: { readonly reason: string; readonly at: string },
): Promise<void> => {
  const ignore = inbox.db
    .updateTable('sync_events')
    .set({ state: 'ignored', reason, settled_at: at, due_at: null })
    .where('state', '=', 'waiting')
    .where('tenant_id', '=', tenantId)
    .where('resource', '=', resource)
    .returning(['type', 'received_at'])
    .compile()
  return settleCounted(inbox, ignore, { resource, state: 'ignored', at })
}
