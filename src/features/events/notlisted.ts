/*
 * Announced records that a walk has not left in the warehouse as events announced them. Those that five walks did not
 * show are requested by id, once. The result is stored like any record and counts as late, so walks go back further from
 * then on.
 */
import type { Int64 } from '../../../schema/resource.js'
import { inParts } from '../../engine/base/parts.js'
import { toMicros } from '../../engine/base/timestamp.js'
import { byIdOf } from '../../engine/run/byid.js'
import { flatList } from '../../engine/run/cursorlist.js'
import { lastWalkedAt } from '../../engine/run/freshness.js'
import { LatenessMeter } from '../../engine/run/lateness.js'
import { PageStore } from '../../engine/run/store.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { addLateness } from '../../engine/warehouse/state/latenessrows.js'
import { openEvents } from './deletedevents.js'
import { type EventRow, isOlder } from './events.js'

/** How far ahead of the source's clock an announced version may be. Beyond that, it means nothing. */
const aheadMicros = 60_000_000n

/** The events whose record the walk has not left at the announced version or a newer one. */
export async function unseenOf(cursor: CursorRun, announced: readonly EventRow[]): Promise<EventRow[]> {
  const witnesses = announced.filter((row) => isWitness(cursor, row))
  if (witnesses.length === 0) return []
  const ids = [...new Set(witnesses.map(({ record_id: id }) => id))]
  const kept = await keptOf(cursor, ids)
  const held = await inQuarantine(cursor, ids)
  return witnesses.filter(({ record_id: id, version }) => {
    const row = kept.get(id)
    if (held.has(id) || row?.isDeleted) return false
    return row === undefined || isOlder(row.updatedAt, version ?? '')
  })
}

function isWitness({ source, run }: CursorRun, { version }: EventRow): boolean {
  if (version === null) return false
  const { serverTime } = source.stats()
  const now = serverTime === undefined ? run.clock.nowMicros() : BigInt(Math.ceil(serverTime)) * 1000n
  return toMicros(version) <= now + aheadMicros
}

async function keptOf(
  { warehouse, root, tenantId }: CursorRun,
  ids: readonly Int64[],
): Promise<Map<Int64, { updatedAt: string; isDeleted: boolean }>> {
  const found = new Map<Int64, { updatedAt: string; isDeleted: boolean }>()
  for (const part of inParts(ids)) {
    const rows = await warehouse.read((db) =>
      db
        .selectFrom(rootTable(root))
        .select(['id', 'updated_at', '_deleted_at'])
        .where('tenant_id', '=', tenantId)
        .where('id', 'in', part)
        .execute(),
    )
    for (const { id, updated_at, _deleted_at } of rows)
      found.set(id, { updatedAt: updated_at, isDeleted: _deleted_at !== null })
  }
  return found
}

/** Records that could not be stored completely. */
async function inQuarantine(
  { warehouse, key }: CursorRun,
  ids: readonly Int64[],
): Promise<ReadonlySet<Int64>> {
  const byText = new Map(ids.map((id) => [String(id), id]))
  const found = new Set<Int64>()
  for (const part of inParts([...byText.keys()])) {
    const rows = await warehouse.read((db) =>
      db
        .selectFrom('sync_quarantine')
        .select('record_id')
        .where('tenant_id', '=', key.tenantId)
        .where('resource', '=', key.resource)
        .where('path', '=', '')
        .where('record_id', 'in', part)
        .execute(),
    )
    for (const { record_id } of rows) found.add(byText.get(record_id) ?? 0)
  }
  return found
}

/**
 * Asks for the records of these events. `absent`: events whose record doesn't exist. `stored`: those whose record was
 * fetched in the announced version or a newer one; `unseen`: in an older one, so only the event has seen the announced
 * one. `open`: the answer says nothing about the record, as when it is refused. `floor`: where the last walk started. The
 * walk should have shown anything stamped later.
 */
export async function askUnlisted(cursor: CursorRun, floor: string, rows: readonly EventRow[]) {
  const store = new PageStore(cursor, 'webhook')
  const [absent, stored]: [EventRow[], EventRow[]] = [[], []]
  const unseen: EventRow[] = []
  const open: [EventRow, string][] = []
  const byId = byIdOf(cursor, flatList(cursor, 'lookup'))
  // A 404 isn't believed here: what isn't in the warehouse is unseen, and for a row it is confirmed as a deletion.
  const answers = await byId.each([...new Set(rows.map(({ record_id }) => record_id))])
  // Only the event has seen what the source shows neither in its list nor by id.
  unseen.push(...rows.filter(({ record_id }) => !answers.has(record_id)))
  for (const [id, answer] of answers) {
    const its = rows.filter(({ record_id }) => record_id === id)
    if (answer.kind !== 'record') {
      if (answer.kind === 'gone') absent.push(...its)
      else open.push(...openEvents(its, answer))
      continue
    }
    const { fetched } = answer
    const [record] = fetched.flattened.records
    // A record that can't be stored is in quarantine by now, and reported there.
    if (!record) {
      await store.storeFlat(fetched)
      stored.push(...its)
    } else {
      const { previous } = await store.storeFlat(fetched)
      const late = its.filter(({ version }) => version !== null && !isOlder(record.updatedAt, version))
      stored.push(...late)
      unseen.push(...its.filter((row) => !late.includes(row)))
      if (late.length > 0) await countLate(cursor, floor, { record, previous })
    }
  }
  if (stored.length > 0)
    cursor.warn('Events announced records that the list does not show; they were fetched by id and stored', {
      records: stored.map(({ record_id }) => record_id),
    })
  return { absent, stored, unseen, open: new Map(open) }
}

async function countLate(
  cursor: CursorRun,
  floor: string,
  {
    record,
    previous,
  }: {
    readonly record: { readonly id: number | bigint; readonly updatedAt: string }
    readonly previous: Parameters<LatenessMeter['take']>[1]
  },
): Promise<void> {
  if (record.updatedAt > floor) return
  const { warehouse, key, stats } = cursor
  const at = cursor.now()
  const tell = (micros: number): void => stats.late(key.resource, micros)
  const meter = new LatenessMeter(lastWalkedAt(cursor), { lateOnly: true, tell })
  meter.take([record], previous)
  const day = { resource: key.resource, day: at.slice(0, 10), way: 'walk' } as const
  await warehouse.write(addLateness(warehouse.db, day, meter.buckets))
}
