/* The waiting events, as rings and walks query them. */
import { type CompiledQuery, type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { inParts } from '../../engine/base/parts.js'
import type { Shard } from '../../engine/base/shard.js'
import { addMicros, toMicros } from '../../engine/base/timestamp.js'
import { type CursorKey, cursorName, rowName } from '../../engine/warehouse/state/cursors.js'
import { isOfShard } from '../../engine/warehouse/state/shardsql.js'
import { EventCounts, isOwnEvent, settleRanges, writeEventCounts } from './counts.js'
import type { Inbox } from './inbox.js'
import type { EventDb, EventRow } from './tables.js'

/** The outcome of an event. */
export interface Settled {
  readonly state: 'settled' | 'deleted' | 'exists' | 'unseen' | 'ignored' | 'left'
  /** Why, if it isn't obvious. */
  readonly reason?: string
}

/** A cursor's waiting events, oldest first. */
export const waitingOf = (inbox: Inbox, { tenantId, resource }: CursorKey): Promise<EventRow[]> =>
  inbox.read((db) =>
    db
      .selectFrom('sync_events')
      .selectAll()
      .where('state', '=', 'waiting')
      .where('tenant_id', '=', tenantId)
      .where('resource', '=', resource)
      .orderBy('received_at')
      .execute(),
  )

export interface DueCursor extends CursorKey {
  /** Since when its oldest event has been due. */
  readonly since: string
  /** How many of its own records events announced; 0 if only other resources' events made it due. */
  readonly announced: number
}

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
export const isDueNow = (
  eb: ExpressionBuilder<{ readonly sync_events: EventRow }, 'sync_events'>,
  now: string,
): Expression<SqlBool> =>
  eb.or([
    eb('due_at', '<=', now),
    eb('due_at', '>', voidFrom(now)),
    eb('tries', '=', 0),
    eb('tries', 'is', null),
  ])

/** Cursors at once. */
const mostCursors = 500

/**
 * The due cursors, of all tenants or of a shard's, longest wait first. A cursor that was never rung is due at once: its
 * receiver's clock may differ.
 */
export const dueCursors = async (inbox: Inbox, now: string, shard?: Shard): Promise<DueCursor[]> => {
  const left = await leftToRun(inbox)
  const rows = await inbox.read((db) =>
    db
      .selectFrom('sync_events')
      .select(['tenant_id', 'resource', 'type'])
      .select((eb) => [
        eb.fn.min<string>('due_at').as('since'),
        eb.fn.count<number>('record_id').distinct().as('records'),
      ])
      .where('state', '=', 'waiting')
      .where((eb) => isDueNow(eb, now))
      .where((eb) => (shard ? isOfShard(eb.ref('tenant_id'), shard) : eb.lit(true)))
      .groupBy(['tenant_id', 'resource', 'type'])
      .orderBy('since')
      .limit(mostCursors + left.size)
      .execute(),
  )
  const found = new Map<string, DueCursor>()
  for (const { tenant_id: tenantId, resource, type, since, records } of rows) {
    const name = cursorName({ tenantId, resource })
    if (left.has(name)) continue
    const { since: first = since, announced = 0 } = found.get(name) ?? {}
    const own = isOwnEvent(type, resource) ? Number(records) : 0
    found.set(name, { tenantId, resource, since: first, announced: announced + own })
  }
  return [...found.values()]
}

/** Cursors that only a run reads, since their rings were cut short. */
async function leftToRun(inbox: Inbox): Promise<ReadonlySet<string>> {
  const rows = await inbox.read((db) =>
    db
      .selectFrom('sync_events')
      .select(['tenant_id', 'resource'])
      .distinct()
      .where('state', '=', 'waiting')
      .where('due_at', 'is', null)
      .where('reason', '=', cutShort)
      .execute(),
  )
  return new Set(rows.map(rowName))
}

/**
 * The ids alone name events of other records and cursors, too, but the index of the key finds them. The rest is written
 * in a way that no other index has: a database may otherwise read all that waits for the cursor, for each statement.
 */
const where = (db: EventDb, rows: readonly EventRow[]) =>
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
  inbox: Inbox,
  rows: readonly EventRow[],
  { state, reason, runId, at }: Settled & { readonly runId: string | null; readonly at: string },
): Promise<void> {
  const [first] = rows
  if (!first) return
  const { resource } = first
  for (const part of inParts(rows)) {
    const columns = { state, reason: reason ?? null, run_id: runId, settled_at: at, due_at: null }
    const settle = where(inbox.db, part).set(columns).returning(['type', 'received_at']).compile()
    await settleCounted(inbox, settle, { resource, state, at })
  }
}

/**
 * Events that someone else has settled meanwhile aren't among the rows returned by the statement, so they aren't
 * counted twice.
 */
const settleCounted = (
  inbox: Inbox,
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
    // The receiver may be another machine whose clock is ahead.
    if (received_at !== null && isOwnEvent(type, resource))
      counts.observe(
        'settle_seconds',
        Math.max(0, Number(toMicros(at) - toMicros(received_at)) / 1e6),
        settleRanges,
      )
  }
  return counts
}

/** Lets events of one cursor wait for a later walk. */
export async function waitAgain(
  inbox: Inbox,
  rows: readonly EventRow[],
  {
    reason,
    tries,
    dueAt,
  }: { readonly reason: string; readonly tries: number; readonly dueAt: string | null },
): Promise<void> {
  for (const part of inParts(rows))
    await inbox.write([where(inbox.db, part).set({ reason, tries, due_at: dueAt }).compile()])
}

/** Events of cursors that aren't synced are answered and left alone. */
export const ignoreEvents = (
  inbox: Inbox,
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
