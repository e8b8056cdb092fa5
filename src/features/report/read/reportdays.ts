/* Months as `YYYY-MM`, and which of them the report shows. */

import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { ViewRows } from '../../../../schema/views/index.js'
import type { ReportMonth } from '../data.js'

/* What the queries on the views share: SQL that works in both databases, and amounts as numbers. */

/** What a query is about. */
export interface Subject {
  readonly db: Kysely<ViewRows>
  /** null: all tenants. */
  readonly tenants: readonly Int64[] | null
  /**
   * `YYYY-MM` and `YYYY-MM-DD` of a day column: the Postgres driver would turn the days themselves into local
   * midnights.
   */
  month(column: string): RawBuilder<string | null>
  day(column: string): RawBuilder<string | null>
}

export const sumKnown = (column: string): RawBuilder<unknown> => sql`coalesce(sum(${sql.ref(column)}), 0)`

/** How many rows meet a condition. */
export const countWhere = (condition: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`coalesce(sum(case when ${condition} then 1 else 0 end), 0)`

/** The sum over the rows that meet a condition. */
export const sumWhere = (column: string, condition: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`coalesce(sum(case when ${condition} then ${sql.ref(column)} end), 0)`

/** How many rows have no such value. */
export const countWithout = (column: string): RawBuilder<unknown> => sql`count(*) - count(${sql.ref(column)})`

/** Whole numbers may arrive as bigint, and Postgres sums as text. */
export const numberFrom = (value: unknown): number => Number(value ?? 0)

/**
 * An open shop closes an invoice within this many days: data that begins later in a month begins in the middle of it.
 */
const latestBeginning = '03'

/** Whether a shop's data covers a period, up to but not including the day `to`, from its beginning. */
export const isOpenSince = (firstDay: string | null, from: string, to = '9999'): boolean =>
  firstDay !== null &&
  (firstDay <= from || (firstDay <= `${from.slice(0, 8)}${latestBeginning}` && firstDay < to))

/** The day this many days later; earlier if the number is negative. */
export const daysLater = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)

/** All days from the first one up to, but not including, the last one. */
export const daysBetween = (from: string, to: string): string[] => {
  const days: string[] = []
  for (let day = from; day < to; day = daysLater(day, 1)) days.push(day)
  return days
}

/** 0 is Sunday. */
export const weekdayOf = (day: string): number => new Date(`${day}T00:00:00Z`).getUTCDay()

const numberOfMonth = (month: string): number =>
  Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7)) - 1

/** The month this many months later; earlier if the number is negative. */
export function monthsLater(month: string, months: number): string {
  const number = numberOfMonth(month) + months
  return `${String(Math.floor(number / 12)).padStart(4, '0')}-${String((number % 12) + 1).padStart(2, '0')}`
}

/** Two years and the current month: enough to compare a year with the one before. */
const mostMonths = 25

/**
 * Months end where the data does: a warehouse that hasn't been synced for weeks shows no empty months. A month is
 * complete when it is over and the data reaches beyond it. For the first month, its first invoice also has to be in its
 * first days.
 */
export function monthsOf({
  first,
  today,
  completeDay,
}: {
  /** The day on which the first invoice was closed; null if there is none yet. */
  readonly first: string | null
  readonly today: string
  /** The day up to which the data is complete in every time zone. */
  readonly completeDay: string
}): ReportMonth[] {
  if (first === null) return []
  const last = [today, completeDay].sort()[0]?.slice(0, 7) ?? today.slice(0, 7)
  const begun = first.slice(0, 7)
  const beginning = [begun, monthsLater(last, 1 - mostMonths)].sort()[1] ?? begun
  const months: ReportMonth[] = []
  for (let month = beginning; month <= last || months.length === 0; month = monthsLater(month, 1)) {
    const isOver = `${monthsLater(month, 1)}-01` <= completeDay && month < today.slice(0, 7)
    const isCut = month === begun && first.slice(8, 10) > latestBeginning
    months.push({ month, isPartial: !isOver || isCut })
  }
  return months
}
