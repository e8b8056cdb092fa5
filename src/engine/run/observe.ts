import { createHash } from 'node:crypto'
import { canonical } from '../base/timestamp.js'
import { type ObservedRecord, observedRecords } from '../list/observed.js'
import type { FlatPage } from '../model/flatten/batch.js'
import { convert } from '../model/flatten/convert.js'
import { readJsonText } from '../model/flatten/jsontext.js'

const member = (record: unknown, name: string): unknown =>
  typeof record === 'object' && record !== null ? (record as Record<string, unknown>)[name] : undefined

/** `updated_at` of a record as it came. Empty if it has no usable one. */
export function timeOf(record: unknown): string {
  const time = member(record, 'updated_at')
  return (typeof time === 'string' ? canonical(time) : null) ?? ''
}

/** The record's id as flatten stores it; undefined if it has no usable id. */
export function recordKey(record: unknown): string | undefined {
  const id = member(record, 'id') ?? null
  const usable = id === null ? null : convert.id(id, 'double').value
  return usable === null ? undefined : String(usable)
}

/** The record's id, or a digest of the content if it has no usable id. */
function keyOf(record: unknown): string {
  const key = recordKey(record)
  if (key !== undefined) return key
  return `?${createHash('sha256').update(readJsonText(record)).digest('base64url').slice(0, 16)}`
}

/** The records of a page in the form the books take. If flatten stored every record, these are simply its records. */
export function recordsObservedIn(
  records: readonly unknown[],
  flattened: FlatPage,
): readonly ObservedRecord[] {
  if (flattened.records.length === records.length) return flattened.records
  const stored = new Map(flattened.records.map((record) => [String(record.id), record]))
  return observedRecords(
    records.map((record) => {
      const key = keyOf(record)
      return { stored: stored.get(key), key, updatedAt: timeOf(record) }
    }),
  )
}
