/*
 * What the polls of a cursor find: how many new and changed records, in how many hours. That determines how often a
 * poll is worth its request (features/targets). Every walk keeps it, so that targets have data to work with when they
 * are set.
 */
import type { Int64 } from '../../../schema/resource.js'
import { toMicros, toMillis } from '../base/timestamp.js'
import type { Clocks } from '../list/clocks.js'
import { unixEpoch } from '../list/cutpoint.js'
import type { Cursor, CursorChange } from '../warehouse/state/cursors.js'
import type { Version } from '../warehouse/store/versionbatch.js'

/** After this many hours, a count has a third of its weight. */
export const memoryHours = 168
/** A limit per poll, so a single import doesn't dominate for weeks. */
const mostNews = 20
/** The longest interval that counts: a clock that jumped ahead by years must not hide what is found afterwards. */
const mostHours = 720

const hoursBetween = (from: string, to: string): number => (toMillis(to) - toMillis(from)) / 3_600_000

const rounded = (value: number): number => Math.round(value * 1e6) / 1e6

/** What the polls of a cursor have found. */
export type Polls = Pick<
  Cursor,
  'polled_at' | 'news' | 'news_unannounced' | 'news_hours' | 'quiet_since' | 'quiet_polls'
>

interface Found {
  readonly news: number
  readonly unannounced: number
  /** Whether the poll read all that it should; a verdict of `unproven` says that it may not have. Default: true. */
  readonly isWhole?: boolean
}

/**
 * The columns of a cursor after a poll that began at that time. Without `found`, the walk was a first load or a
 * rereading, which says nothing about how often the list changes.
 */
export function polled(before: Polls | undefined, at: string, found?: Found): CursorChange {
  const polled_at = { polled_at: at }
  if (!found || !before || before.polled_at === null) return polled_at
  const passed = hoursBetween(before.polled_at, at)
  // A wrong clock made the last poll; what this one found came in an unknown time, and would count as a rush for days.
  if (passed < 0) return { ...polled_at, ...quiet(before, at, found) }
  const kept = Math.exp(-Math.min(mostHours, passed) / memoryHours)
  const news = rounded((before.news ?? 0) * kept + found.news)
  const news_hours = rounded((before.news_hours ?? 0) * kept + Math.min(mostHours, passed))
  return {
    ...polled_at,
    news,
    news_hours,
    news_unannounced: rounded((before.news_unannounced ?? 0) * kept + found.unannounced),
    ...quiet(before, at, found),
    // Of a list that has been polled for less than a week, an hour's rush would make a habit.
    usual_news: found.news > 0 ? rounded((24 * news) / Math.max(memoryHours, news_hours)) : undefined,
  }
}

/** Since when, and for how many polls, a list has brought nothing. */
function quiet({ quiet_since, quiet_polls }: Polls, at: string, { news, isWhole = true }: Found) {
  // A wrong clock may have set a time ahead of this poll.
  if (news > 0 || quiet_since === null || quiet_since > at) return { quiet_since: at, quiet_polls: 0 }
  return isWhole ? { quiet_polls: Number(quiet_polls ?? 0) + 1 } : {}
}

/** A new or changed record. */
export interface Arrival {
  readonly id: Int64
  readonly updatedAt: string
}

/** New and changed records that a poll has found. */
export class Arrivals {
  /** The ones that count as news. */
  readonly first: Arrival[] = []
  /** How long each of them took to get here, in milliseconds, by the source's clock. */
  readonly delays: number[] = []

  get count(): number {
    return this.delays.length
  }

  /** How many count as news. */
  get news(): number {
    return this.first.length
  }

  /** Takes the stored records of a page. Records that came back from deletion aren't new. */
  take(records: readonly Arrival[], previous: ReadonlyMap<Int64, Version>, clocks: Clocks | undefined): void {
    const answered = clocks && (clocks.source ? `${clocks.source.slice(0, 19)}.000000Z` : clocks.own)
    for (const { id, updatedAt } of records) {
      const stored = previous.get(id)
      if (stored && (stored.deletedAt !== null || stored.updatedAt >= updatedAt)) continue
      // Stamps before 1970 aren't real: nothing shows when such a record was made.
      if (updatedAt < unixEpoch || answered === undefined) continue
      if (this.first.length < mostNews) this.first.push({ id, updatedAt })
      this.delays.push(Math.max(0, Number((toMicros(answered) - toMicros(updatedAt)) / 1000n)))
    }
  }
}
