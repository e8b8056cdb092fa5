/*
 * Totals of received events and their outcomes, which don't decrease when rows are deleted. They are for metrics and
 * are stored with the events, since a write into a busy warehouse would delay the receiver.
 */
import { type CompiledQuery, sql } from 'kysely'
import { resources } from '../../../schema/index.js'
import type { Int64 } from '../../../schema/resource.js'
import { toMicros } from '../../engine/base/timestamp.js'
import type { EventDb } from './tables.js'

/** Upper bounds of a histogram's ranges, in seconds; beyond the last one: `+Inf`. */
export const acceptRanges = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const
export const settleRanges = [0.5, 1, 2, 3, 5, 10, 30, 60, 300, 900, 3600] as const

/** What is counted of events over the lifetime of the warehouse. */
export const lifetimeMetrics = ['received', 'settled', 'accept_seconds', 'settle_seconds'] as const

/**
 * What is counted of changes that no event announced (unannounced.ts): two totals per day and resource, and how far each
 * cursor was judged, in microseconds.
 */
export const judgedMetrics = {
  changes: 'changes',
  unannounced: 'unannounced',
  judged: 'judged_through',
} as const

/** Deletes everything stored about a forgotten tenant: how far its cursors were judged. */
export const forgetJudged = (db: EventDb, tenantId: Int64): CompiledQuery =>
  db
    .deleteFrom('sync_event_counts')
    .where('metric', '=', judgedMetrics.judged)
    .where('labels', 'like', `%"tenant":"${tenantId}"}`)
    .compile()

/** Deletes what was judged of a former source. */
export const emptyJudged = (db: EventDb): CompiledQuery =>
  db.deleteFrom('sync_event_counts').where('metric', 'in', Object.values(judgedMetrics)).compile()

/** The part of a histogram that contains the sum of its seconds, in microseconds. */
const secondsPart = 'sum'
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

/** Whether an event makes its own cursor due, rather than one of `events.also`. A ring by hand isn't an event. */
export const isOwnEvent = (type: string | null, resource: string): boolean =>
  type !== null && resources[resource]?.entity === type

interface SettledRow {
  readonly type: string | null
  readonly received_at: string | null
}

/** Counts events of one cursor settled at that time. Called only in the transaction that settles them. */
export function countSettled(
  db: EventDb,
  rows: readonly SettledRow[],
  { resource, state, at }: { readonly resource: string; readonly state: string; readonly at: string },
): CompiledQuery[] {
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
  return writeEventCounts(db, counts.take())
}
