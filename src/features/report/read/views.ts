/* What the questions to the views share: SQL that both databases understand, and amounts as numbers. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { ViewRows } from '../../../../schema/views/index.js'

export type ViewDb = Kysely<ViewRows>

/** What a question is about. */
export interface Subject {
  readonly db: ViewDb
  /** null: all tenants. */
  readonly tenants: readonly Int64[] | null
  /**
   * `YYYY-MM` of a column that holds days, and `YYYY-MM-DD`: the driver of Postgres would make local midnights of the
   * days themselves.
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

export const countRows = sql<unknown>`count(*)`

/** How many rows have no such value. */
export const countWithout = (column: string): RawBuilder<unknown> => sql`count(*) - count(${sql.ref(column)})`

/** Whole numbers may arrive as bigint, and sums of Postgres as text. */
export const numberFrom = (value: unknown): number => Number(value ?? 0)

/** Rows by what `of` says of each, in the order of their arrival. */
export function groupedBy<T>(rows: readonly T[], of: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const group = groups.get(of(row))
    if (group) group.push(row)
    else groups.set(of(row), [row])
  }
  return groups
}
