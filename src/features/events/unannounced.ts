/*
 * Changes that walks found without an event announcing them, while a listener was running: how much of what changes
 * events announce. This is a figure, not an accusation, since the document doesn't say what triggers an event. No
 * verdict depends on it.
 *
 * Once an hour, the listener judges for each cursor what has changed since the last time, up to its watermark: every
 * record up to there is in the warehouse. An event has an hour to arrive. Nothing is judged for a cursor that was never
 * judged before: it was just loaded, or nobody listened.
 */
import { type CompiledQuery, sql } from 'kysely'
import { resources } from '../../../schema/index.js'
import type { Int64 } from '../../../schema/resource.js'
import { addMicros, fromMicros, toMicros } from '../../engine/base/timestamp.js'
import type { Config } from '../../engine/config/config.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import { rootOf } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { type CursorKey, cursorName, listCursors, rowName } from '../../engine/warehouse/state/cursors.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { EventCounts, judgedMetrics, writeEventCounts } from './counts.js'
import { eventParts, isOlder } from './events.js'
import type { Inbox } from './inbox.js'
import { readSynced } from './synced.js'
import type { EventDb } from './tables.js'

/** One resource, all tenants together. */
export interface Unannounced {
  readonly resource: string
  /** Changes that were judged. */
  readonly changes: number
  /** Changes among these that no event announced. */
  readonly unannounced: number
}

const { changes, unannounced, judged } = judgedMetrics

const minute = 60_000_000n
/** How long an event has to arrive. */
const patience = 60n * minute
/** How far the source's clock may differ from the receiver's. */
const clocksApart = minute
/**
 * How long a listener must have been running before a change: the source may still be retrying events from when none
 * was.
 */
const settledIn = 10n * minute
const keptDays = 30
const rowsAtOnce = 500

const dayLabels = (day: string, resource: string) => ({ day, resource })
const markLabels = ({ tenantId, resource }: CursorKey): string =>
  JSON.stringify({ resource, tenant: String(tenantId) })

const firstDay = (now: string): string => addMicros(now, BigInt(keptDays) * -86_400_000_000n).slice(0, 10)

/** Sums of the last 30 days for all judged resources. */
export async function readUnannounced(inbox: Inbox, now: string): Promise<Unannounced[]> {
  const rows = await inbox.read((db) =>
    db
      .selectFrom('sync_event_counts')
      .selectAll()
      .where('metric', 'in', [changes, unannounced])
      .where('labels', '>=', `{"day":"${firstDay(now)}"`)
      .execute(),
  )
  const sums = new Map<string, { changes: number; unannounced: number }>()
  for (const { metric, labels, value } of rows) {
    const { resource } = JSON.parse(labels) as ReturnType<typeof dayLabels>
    const sum = sums.get(resource) ?? { changes: 0, unannounced: 0 }
    sum[metric === changes ? 'changes' : 'unannounced'] += Number(value ?? 0)
    sums.set(resource, sum)
  }
  return [...sums]
    .map(([resource, sum]) => ({ resource, ...sum }))
    .sort((a, b) => (a.resource < b.resource ? -1 : 1))
}

interface Judging {
  readonly config: Pick<Config, 'sync'>
  readonly warehouse: Warehouse
  readonly inbox: Inbox
  /** How long settled events are kept, in milliseconds. */
  readonly keep: number
}

/** The periods in which someone listened. */
type Listened = readonly (readonly [from: string, until: string])[]

/** Judges what can be judged by now. Reads only what has changed since the last time. */
export async function judgeUnannounced(judging: Judging, nowMicros: bigint): Promise<void> {
  const { config, warehouse, inbox, keep } = judging
  const now = fromMicros(nowMicros)
  const synced = await readSynced(config, warehouse)
  const marks = await readMarks(inbox)
  const listened = await readListened(inbox)
  // Events of older changes may have been deleted.
  const oldest = addMicros(now, BigInt(keep) * -1000n + patience)
  const latest = addMicros(now, -patience)
  const cursors = await listCursors(warehouse, ['watermark'])
  const watermarks = new Map(cursors.map((row) => [rowName(row), row.watermark]))
  const announced = [...synced.resources.values()].filter(({ name }) => resources[name]?.announced === true)
  for (const tenantId of synced.tenants)
    for (const resource of announced) {
      const key = { tenantId, resource: resource.name }
      const watermark = watermarks.get(cursorName(key)) ?? null
      if (watermark === null) continue
      const mark = marks.get(markLabels(key))
      if (mark === undefined) {
        await store(inbox, key, undefined, { through: now, counts: new EventCounts() })
        continue
      }
      const through = watermark < latest ? watermark : latest
      if (through <= mark) continue
      const from = mark < oldest ? oldest : mark
      const counts = await judgeCursor(judging, resource, { ...key, from, through, listened })
      await store(inbox, key, mark, { through, counts })
    }
  await inbox.write([forgetDays(inbox.db, now)])
}

const forgetDays = (db: EventDb, now: string): CompiledQuery =>
  db
    .deleteFrom('sync_event_counts')
    .where('metric', 'in', [changes, unannounced])
    .where('labels', '<', `{"day":"${firstDay(now)}"`)
    .compile()

async function readMarks(inbox: Inbox): Promise<Map<string, string>> {
  const rows = await inbox.read((db) =>
    db.selectFrom('sync_event_counts').selectAll().where('metric', '=', judged).execute(),
  )
  return new Map(rows.map(({ labels, value }) => [labels, fromMicros(BigInt(value ?? 0))]))
}

async function readListened(inbox: Inbox): Promise<Listened> {
  const rows = await inbox.read((db) =>
    db.selectFrom('sync_listeners').select(['up_at', 'seen_at']).execute(),
  )
  // A listener that ended records it in seen_at, too.
  return rows.flatMap(({ up_at, seen_at }) =>
    up_at === null || seen_at === null
      ? []
      : [[addMicros(up_at, settledIn + clocksApart), addMicros(seen_at, -clocksApart)] as const],
  )
}

/** Judges what changed after `from`, up to `through`. */
async function judgeCursor(
  { warehouse, inbox }: Judging,
  resource: ResourceModel,
  {
    tenantId,
    from,
    through,
    listened,
  }: CursorKey & { readonly from: string; readonly through: string; readonly listened: Listened },
): Promise<EventCounts> {
  const counts = new EventCounts()
  const { name } = resource
  const events = await eventsSince(inbox, { tenantId, resource: name }, addMicros(from, -clocksApart))
  const isAnnounced = (id: Int64, updatedAt: string): boolean =>
    events
      .get(String(id))
      ?.some(({ version, received_at }) =>
        version === null
          ? (received_at ?? '') >= addMicros(updatedAt, -clocksApart)
          : !isOlder(version, updatedAt),
      ) ?? false
  for (let after = { at: from, id: null as Int64 | null }; ; ) {
    const rows = await changedRows(warehouse, resource, tenantId, { after, through })
    for (const { id, updated_at } of rows) {
      if (!listened.some(([since, until]) => since <= updated_at && updated_at <= until)) continue
      const labels = dayLabels(updated_at.slice(0, 10), name)
      counts.add(changes, labels)
      if (!isAnnounced(id, updated_at)) counts.add(unannounced, labels)
    }
    const last = rows.at(-1)
    if (!last || rows.length < rowsAtOnce) return counts
    after = { at: last.updated_at, id: last.id }
  }
}

/** A cursor's records that changed in a period, as they are now, ordered by version. */
const changedRows = (
  warehouse: Warehouse,
  resource: ResourceModel,
  tenantId: Int64,
  {
    after,
    through,
  }: { readonly after: { readonly at: string; readonly id: Int64 | null }; readonly through: string },
) =>
  warehouse.read((db) =>
    db
      .selectFrom(rootTable(rootOf(resource)))
      .select(['id', 'updated_at'])
      .where('tenant_id', '=', tenantId)
      .where('updated_at', '<=', through)
      .where((eb) =>
        after.id === null
          ? eb('updated_at', '>', after.at)
          : eb.or([
              eb('updated_at', '>', after.at),
              eb.and([eb('updated_at', '=', after.at), eb('id', '>', after.id)]),
            ]),
      )
      .orderBy('updated_at')
      .orderBy('id')
      .limit(rowsAtOnce)
      .execute(),
  )

/** The cursor's own events since then, by record. */
async function eventsSince(inbox: Inbox, cursor: CursorKey, since: string) {
  const columns = ['record_id', 'version', 'received_at'] as const
  const rows = await eventParts(inbox, columns, { announcing: cursor, since })
  const found = new Map<string, typeof rows>()
  for (const row of rows) {
    const id = String(row.record_id)
    found.set(id, [...(found.get(id) ?? []), row])
  }
  return found
}

/** Stores what was judged, and how far, unless another listener has judged it meanwhile. */
const store = (
  inbox: Inbox,
  key: CursorKey,
  mark: string | undefined,
  { through, counts }: { readonly through: string; readonly counts: EventCounts },
): Promise<void> => {
  const taken = counts.take()
  return inbox.transaction(async (session) => {
    const isMine = await moveMark(inbox.db, session, markLabels(key), { mark, through })
    if (isMine) for (const statement of writeEventCounts(inbox.db, taken)) await session.run(statement)
  })
}

async function moveMark(
  db: EventDb,
  session: Session,
  labels: string,
  { mark, through }: { readonly mark: string | undefined; readonly through: string },
): Promise<boolean> {
  const value = sql<number>`${toMicros(through)}`
  const statement =
    mark === undefined
      ? db
          .insertInto('sync_event_counts')
          .values({ metric: judged, labels, part: '', value })
          .onConflict((conflict) => conflict.doNothing())
      : db
          .updateTable('sync_event_counts')
          .set({ value })
          .where('metric', '=', judged)
          .where('labels', '=', labels)
          .where('value', '=', sql<number>`${toMicros(mark)}`)
  return (await session.run<unknown>(statement.compile())).affected > 0
}
