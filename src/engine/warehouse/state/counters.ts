/*
 * The rows of sync_counters: lifetime totals of the runs. A run adds to them in the transaction that records its end;
 * src/features/health/metrics.ts reads them.
 */
import type { CompiledQuery } from 'kysely'
import type { Db, Reader } from '../database.js'

/** One number of one metric. */
export interface CounterEntry {
  readonly metric: string
  readonly labels: Readonly<Record<string, string>>
  /** See sync_counters.part. */
  readonly part: string
  /** A whole number; seconds as microseconds. */
  readonly value: number
}

const keys = ['metric', 'labels', 'part'] as const

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

/** Adds to totals. Not idempotent; call it once, inside the caller's transaction. Each entry has its own key. */
export function addToCounters(db: Db, entries: readonly CounterEntry[]): CompiledQuery[] {
  if (entries.length === 0) return []
  const insert = db.insertInto('sync_counters').values(rowsOf(entries))
  const added = insert.onConflict((c) =>
    c.columns([...keys]).doUpdateSet((eb) => ({
      value: eb('sync_counters.value', '+', eb.ref('excluded.value')),
    })),
  )
  return [added.compile()]
}

/** Replaces the findings of an earlier run with those of the last run. */
export function setCounters(db: Db, entries: readonly CounterEntry[]): CompiledQuery[] {
  if (entries.length === 0) return []
  const insert = db.insertInto('sync_counters').values(rowsOf(entries))
  const set = insert.onConflict((c) =>
    c.columns([...keys]).doUpdateSet((eb) => ({ value: eb.ref('excluded.value') })),
  )
  return [set.compile()]
}

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
