import { createHash } from 'node:crypto'
import type { Flattened } from '../../model/flatten/batch.js'
import { rawJson } from '../../model/flatten/jsontext.js'
import { canonical } from '../../timestamp.js'
import type { Sighting } from '../../walk/books.js'

const member = (record: unknown, name: string): unknown =>
  typeof record === 'object' && record !== null ? (record as Record<string, unknown>)[name] : undefined

/** `updated_at` of a record as it came; empty when it has none that can be used. */
export function timeOf(record: unknown): string {
  const time = member(record, 'updated_at')
  return (typeof time === 'string' ? canonical(time) : null) ?? ''
}

/** The sightings of one page. */
export type SightingRule = (records: readonly unknown[], flattened: Flattened) => readonly Sighting[]

/**
 * What the books of a walk count: every record once, records included that cannot be stored or that stand twice in one
 * page.
 */
export const sightingsOf: SightingRule = (shown, { records, quarantine, unstorable }) => {
  const surplus = shown.length - records.length - unstorable
  if (unstorable === 0 && surplus <= 0) return records
  const odd: Sighting[] = quarantine
    .filter((entry) => entry.path === '')
    .map((entry) => ({ id: `!${entry.recordId}`, updatedAt: '', createdAt: null }))
  return [...records, ...odd, ...(surplus > 0 ? repeated(shown) : [])]
}

function repeated(records: readonly unknown[]): Sighting[] {
  const counts = new Map<string, number>()
  return records.flatMap((record) => {
    const id = typeof record === 'object' && record !== null && 'id' in record ? String(record.id) : ''
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    return id !== '' && count > 1 ? [{ id: `${id}#${count}`, updatedAt: '', createdAt: null }] : []
  })
}

/** Stands for a record that can be no row: the same text for the same record, whatever page shows it. */
const oddName = (record: unknown, occurrence: number): string =>
  `!${createHash('sha256').update(rawJson(record)).digest('base64url').slice(0, 16)} ${occurrence}`

/**
 * Every record of a page in the order of the list, records included that cannot be stored or that stand in it twice.
 * Such a record has a text for an id, and where it has no time of its own, its neighbour's: counts and ranges need it.
 */
export const sightingsInOrder: SightingRule = (records, flattened) => {
  if (flattened.records.length === records.length) return flattened.records
  const usable = new Map(flattened.records.map((record) => [String(record.id), record]))
  const names = new Map<string, number>()
  let before = flattened.records[0]?.updatedAt ?? ''
  return records.map((record) => {
    const id = String(member(record, 'id'))
    const flat = usable.get(id)
    usable.delete(id)
    before = flat?.updatedAt ?? (timeOf(record) || before)
    if (flat) return flat
    const occurrence = (names.get(id) ?? 0) + 1
    names.set(id, occurrence)
    return { id: oddName(record, occurrence), updatedAt: before, createdAt: null }
  })
}
