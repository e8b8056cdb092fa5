/*
 * The rows of sync_counters: lifetime totals of the runs. A run adds to them in the transaction that records its end;
 * src/features/health/metrics.ts reads them.
 */
import { type CompiledQuery, type Expression, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Db, Reader } from '../database.js'

/** One number of one metric. */
export interface CounterEntry {
  readonly metric: string
  readonly labels: Readonly<Record<string, string>>
  readonly part: string
  /** A whole number; seconds as microseconds. */
  readonly value: number
}

const rowOf = ({ metric, labels, part, value }: CounterEntry) => ({
  metric,
  labels: JSON.stringify(Object.fromEntries(Object.entries(labels).toSorted())),
  part,
  value,
})

/** Always in the same order, so two writers can't block each other. */
const rowsOf = (entries: readonly CounterEntry[]) =>
  entries
    .map(rowOf)
    .map((row) => ({ row, name: JSON.stringify([row.metric, row.labels, row.part]) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ row }) => row)

/** Each entry has its own key. */
function stored(db: Db, entries: readonly CounterEntry[], value: Expression<Int64>): CompiledQuery[] {
  if (entries.length === 0) return []
  const insert = db.insertInto('sync_counters').values(rowsOf(entries))
  return [insert.onConflict((c) => c.columns(['metric', 'labels', 'part']).doUpdateSet({ value })).compile()]
}

/** Adds to totals. Not idempotent; call it once, inside the caller's transaction. */
export const addToCounters = (db: Db, entries: readonly CounterEntry[]): CompiledQuery[] =>
  stored(db, entries, sql`sync_counters.value + excluded.value`)

/** Replaces the findings of an earlier run with those of the last run. */
export const setCounters = (db: Db, entries: readonly CounterEntry[]): CompiledQuery[] =>
  stored(db, entries, sql`excluded.value`)

export async function readCounters(warehouse: Reader): Promise<CounterEntry[]> {
  const rows = await warehouse.read((db) =>
    db.selectFrom('sync_counters').selectAll().orderBy('metric').orderBy('labels').execute(),
  )
  return rows.map(({ metric, labels, part, value }) => ({
    metric,
    labels: JSON.parse(labels) as CounterEntry['labels'],
    part,
    value: Number(value ?? 0),
  }))
}
