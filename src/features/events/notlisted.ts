/*
 * Records that an event announced and five walks did not show: each is requested by id, once. The result is stored like
 * any record and counts as late, so walks go back further from then on.
 */

import { byIdOf } from '../../engine/run/byid.js'
import { flatList } from '../../engine/run/cursorlist.js'
import { lastWalkedAt } from '../../engine/run/freshness.js'
import { LatenessMeter } from '../../engine/run/lateness.js'
import { PageStore } from '../../engine/run/store.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { addLateness } from '../../engine/warehouse/latenessrows.js'
import { type OpenEvents, openEvents } from './deletedevents.js'
import { type EventRow, isOlder } from './waiting.js'

interface Asked {
  /** Events whose record doesn't exist. */
  readonly absent: EventRow[]
  /** Events whose record was fetched in the announced version or a newer one. */
  readonly stored: readonly EventRow[]
  /** Events whose record was fetched in an older version: only the event has seen the announced one. */
  readonly unseen: readonly EventRow[]
  /** Events about whose record the answer says nothing: it is refused, for example. */
  readonly open: OpenEvents
}

/** `floor`: where the last walk started. The walk should have shown anything stamped later. */
export async function askUnlisted(
  cursor: CursorRun,
  floor: string,
  rows: readonly EventRow[],
): Promise<Asked> {
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
