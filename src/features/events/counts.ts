/*
 * Totals of received events and their outcomes, which don't decrease when rows are deleted. They are for metrics and
 * are stored with the events, since a write into a busy warehouse would delay the receiver.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { CounterEntry } from '../../engine/warehouse/state/counters.js'
import type { EventDb } from './tables.js'

/** Upper bounds of a histogram's ranges, in seconds; beyond the last one: `+Inf`. */
export const acceptRanges = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const
export const settleRanges = [0.5, 1, 2, 3, 5, 10, 30, 60, 300, 900, 3600] as const

/**
 * What is counted of changes that no event announced (unannounced.ts): two totals per day and resource, and how far each
 * cursor was judged, in microseconds.
 */
export const judgedMetrics = {
  changes: 'changes',
  unannounced: 'unannounced',
  judged: 'judged_through',
} as const

/** The part of a histogram that contains the sum of its seconds, in microseconds. */
const secondsPart = 'sum'
export const beyond = '+Inf'

/**
 * A row as it is stored: in rows of earlier versions, the labels have the order in which they were given, not that of
 * `sync_counters`. Another order would begin a second total of the same labels.
 */
type Count = Omit<CounterEntry, 'labels'> & { readonly labels: string }

export class EventCounts {
  #counts = new Map<string, { -readonly [K in keyof Count]: Count[K] }>()

  add(metric: string, labels: CounterEntry['labels'], more = 1, part = ''): void {
    const text = JSON.stringify(labels)
    const key = `${metric} ${text} ${part}`
    const count = this.#counts.get(key)
    if (count) count.value += more
    else this.#counts.set(key, { metric, labels: text, part, value: more })
  }

  /** Adds one observation to a histogram. */
  observe(metric: string, seconds: number, ranges: readonly number[]): void {
    const range = ranges.find((end) => seconds <= end)
    this.add(metric, {}, 1, range === undefined ? beyond : String(range))
    this.add(metric, {}, Math.round(seconds * 1e6), secondsPart)
  }

  /**
   * What was counted since the last call. Ordered by key, so that two writers wait for each other instead of
   * deadlocking.
   */
  take(): Count[] {
    const counts = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count)
    this.#counts = new Map()
    return counts
  }

  /** Adds back what could not be written. */
  giveBack(counts: readonly Count[]): void {
    for (const { metric, labels, part, value } of counts)
      this.add(metric, JSON.parse(labels) as CounterEntry['labels'], value, part)
  }
}

export const writeEventCounts = (db: EventDb, counts: readonly Count[]): CompiledQuery[] =>
  counts.length === 0
    ? []
    : [
        db
          .insertInto('sync_event_counts')
          .values([...counts])
          .onConflict((conflict) =>
            conflict
              .columns(['metric', 'labels', 'part'])
              .doUpdateSet({ value: sql<number>`sync_event_counts.value + excluded.value` }),
          )
          .compile(),
      ]
