import { type Expression, sql } from 'kysely'
import type { DayRun } from '../dialect.js'

export function dayRows(runs: readonly DayRun[]): Expression<unknown> {
  const values = runs.map(
    ({ first, days, start }) => sql`(${sql.lit(first)}, ${sql.lit(days)}, ${sql.lit(start)})`,
  )
  const day = sql`date '1970-01-01' + (first + i)`
  return sql`select first + i as n, to_timestamp(start + i * 86400.0) as from_at,
      ${day} as day, cast(date_trunc('month', ${day}) as date) as month
    from (values ${sql.join(values)}) as runs(first, days, start), generate_series(0, days - 1) as i`
}
