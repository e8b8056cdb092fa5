import { type Expression, sql } from 'kysely'
import type { DayRun } from '../dialect.js'

/** Run after run, so that the rows come in the order of their key. */
export function dayRows(runs: readonly DayRun[]): Expression<unknown> {
  const firsts = runs.map(
    ({ first, days, start }) => sql`(${sql.lit(first)}, ${sql.lit(first + days)}, ${sql.lit(start)})`,
  )
  const day = sql`n * 86400, 'unixepoch'`
  return sql`with recursive days(n, behind, start) as (values ${sql.join(firsts)}
    union all select n + 1, behind, start + 86400 from days where n + 1 < behind order by 1)
    select n, strftime('%Y-%m-%dT%H:%M:%S.000000Z', start, 'unixepoch') as from_at,
      date(${day}) as day, date(${day}, 'start of month') as month from days`
}
