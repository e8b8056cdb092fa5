/**
 * What the SQL of views says differently on each database. sqlite/viewsql.ts and postgres/viewsql.ts implement it;
 * src/analytics/words.ts makes of it, of the model and of the configuration the words that the declarations of
 * schema/views/ use.
 */
import type { ViewKind } from '../../schema/view.js'

/** One column of a view's query. */
export interface SelectedColumn {
  readonly name: string
  readonly kind: ViewKind
  readonly sql: string
  /** A plain column of a table: its type is known, and a cast would keep conditions from its index. */
  readonly isPlain: boolean
}

/** The SQL of one database; arguments and results are SQL text. */
export interface ViewSql {
  /** This instant, as the tables hold instants, the same in a whole query. */
  readonly now: string
  /** A table of the warehouse. */
  table(name: string): string
  /** A day as text, `YYYY-MM-DD`. */
  dayText(day: string): string
  /** Whole minutes from one instant to another, rounded down. */
  minutes(from: string, to: string): string
  /** Units at so many cents each in whole cents, by the nine-decimal rule; null where either is null, or absurd. */
  amount(units: string, cents: string): string
  /** `cents * part / whole`, rounded half away from zero, without overflow. */
  prorate(cents: string, part: string, whole: string): string
  /** The query of a view from its parts: every column typed, whatever its expression. */
  query(parts: {
    readonly with: string
    readonly legs: readonly { readonly columns: readonly SelectedColumn[]; readonly from: string }[]
  }): string
}
