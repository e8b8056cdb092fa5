/*
 * Totals of what was received and what became of it, which do not fall when rows go: metrics read them, since a write into
 * a busy warehouse would hold the receiver up.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { EventDb } from './tables.js'

/** Upper ends of the ranges of a histogram, in seconds; beyond the last one: `+Inf`. */
export const acceptRanges = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const
export const settleRanges = [0.5, 1, 2, 3, 5, 10, 30, 60, 300, 900, 3600] as const

/** The part of a histogram that holds the sum of its seconds, in microseconds. */
export const secondsPart = 'sum'
export const beyond = '+Inf'

type Labels = Readonly<Record<string, string>>

interface Count {
  readonly metric: string
  /** JSON. */
  readonly labels: string
  readonly part: string
  readonly value: number
}

export class EventCounts {
  #counts = new Map<string, { -readonly [K in keyof Count]: Count[K] }>()

  add(metric: string, labels: Labels, more = 1, part = ''): void {
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

  /** What was counted since the last call. In the order of their keys, so that two who write wait and do not block each other. */
  take(): Count[] {
    const counts = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count)
    this.#counts = new Map()
    return counts
  }

  /** Counts again what could not be written. */
  giveBack(counts: readonly Count[]): void {
    for (const { metric, labels, part, value } of counts)
      this.add(metric, JSON.parse(labels) as Labels, value, part)
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
