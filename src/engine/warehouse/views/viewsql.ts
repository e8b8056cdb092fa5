/**
 * The parts of the SQL of views that differ between the databases. viewsql.ts of sqlite/views/ and of postgres/views/ implement
 * it. src/features/analytics/viewwords.ts combines it with the model and the configuration into the words that the
 * declarations in schema/views/ use.
 */
import type { DatabaseWords, ViewKind } from '../../../../schema/view.js'

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

/** Whether its values are exact to nine decimals. */
export const isNine = <K extends string>(kind: K): kind is K & ('hours' | 'quantity') =>
  kind === 'hours' || kind === 'quantity'

/** The years that the calendar and the indexes by UTC day know: views show no day for an instant of other years. */
export const calendarYears = { first: 1990, end: 2060 } as const

/** Sums of hours and units must be below this: the type of hours has nine digits before its nine decimals. */
export const mostUnits = 1_000_000_000

/** Whether a number is below `most` with its nine decimals: one that rounds up to it isn't. */
export const isBelow = (number: string, most: number): string => `abs(${number}) < ${most - 1}.9999999995`

/** The SQL of views in one database. Tables that it adds are in braces. */
export interface ViewSql extends DatabaseWords {
  /** A table of the warehouse. */
  table(name: string): string
  /** Builds a view's query from its parts, with a type for every column, whatever its expression. */
  query(parts: {
    readonly with: string
    readonly legs: readonly { readonly columns: readonly SelectedColumn[]; readonly from: string }[]
  }): string
}
