/**
 * The parts of the SQL of views that differ between the databases. viewsql.ts of sqlite/views/ and of postgres/views/ implement
 * it. src/features/analytics/viewwords.ts combines it with the model and the configuration into the words that the
 * declarations in schema/views/ use.
 */
import type { JoinedDay, ViewKind } from '../../../../schema/view.js'

/** One column of a view's query. */
export interface SelectedColumn {
  readonly name: string
  readonly kind: ViewKind
  readonly sql: string
  /** The billionths that `sql` makes a number of, if it does. */
  readonly nine?: string | undefined
  /** A plain column of a table: its type is known, and a cast would keep conditions from using its index. */
  readonly isPlain: boolean
  /** An instant is shown as the tables hold it. */
  readonly isStored?: boolean
}

/** An instant, and the shop whose zone determines its day. */
export interface ShopInstant {
  readonly tenant: string
  readonly shop: string
  readonly instant: string
}

/** Whether its values are exact to nine decimals. */
export const isNine = <K extends string>(kind: K): kind is K & ('hours' | 'quantity') =>
  kind === 'hours' || kind === 'quantity'

/** The years that the calendar and the indexes by UTC day know: views show no day for an instant of other years. */
export const calendarYears = { first: 1990, end: 2060 } as const

/** The zone of a shop, as an expression. Tables are in braces. */
export const zoneOf = (tenant: string, shop: string): string =>
  `coalesce((select zone_.zone from {report_zones} zone_ where zone_.tenant_id = ${tenant} and zone_.shop_id = ${shop}), (select zone_.zone from {report_zones} zone_ where zone_.tenant_id = 0 and zone_.shop_id = 0))`

/** Sums of hours and units must be below this: the type of hours has nine digits before its nine decimals. */
export const mostUnits = 1_000_000_000

/** Whether a number is below `most` with its nine decimals: one that rounds up to it isn't. */
export const isBelow = (number: string, most: number): string => `abs(${number}) < ${most - 1}.9999999995`

/** The SQL of one database. Arguments and results are SQL text. */
export interface ViewSql {
  /** The current instant, in the form the tables hold instants; the same within a whole query. */
  readonly now: string
  /** A table of the warehouse. */
  table(name: string): string
  /** The day of an instant in a zone. null outside the calendar. Tables are in braces. */
  day(zone: string, instant: string): string
  /** A day as text, `YYYY-MM-DD`. */
  dayText(day: string): string
  /** The number of a day: days since 1970-01-01. */
  dayNumber(day: string): string
  /** The day of each row of a table in its shop's zone. null outside the calendar. Tables are in braces. */
  shopDay(alias: string, of: ShopInstant): JoinedDay
  /** Whole minutes from one instant to another, rounded down. */
  minutes(from: string, to: string): string
  /**
   * A number in whole billionths, rounded half away from zero. null if it is null, or `most` or more: 10^9, unless a
   * lower bound is given.
   */
  nine(number: string, most?: number): string
  /** The same number, not in billionths. */
  units(number: string, most: number): string
  /** The sum of those over a group, without overflow. 0 if there are none. */
  sumNine(number: string, most?: number): string
  /**
   * A value that is added up beside others in a union, or none. All have one type: where the types of its legs differ,
   * Postgres computes each column again for every leg.
   */
  summand(value?: string): string
  /**
   * The sums of a query's columns by its key columns: of each group, the row whose `place` is 1. Conditions on the keys
   * reach the query.
   */
  sums(keys: readonly string[], names: readonly string[], query: string): string
  /** The price of units at `cents` each in whole cents, by the nine-decimal rule. null if either is null or absurd. */
  amount(units: string, cents: string, most?: number): string
  /** Builds a view's query from its parts, with a type for every column, whatever its expression. */
  query(parts: {
    readonly with: string
    readonly legs: readonly { readonly columns: readonly SelectedColumn[]; readonly from: string }[]
  }): string
}
