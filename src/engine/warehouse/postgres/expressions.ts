/* SQL that only Postgres understands: members of `_extra`, stored versions as JSON, the days of a calendar. */

import { sql } from 'kysely'
import { columnTypes } from '../../model/columntypes.js'
import type { Column, Table } from '../../model/table.js'
import type { CalendarSql, DialectSql, ExtraSql } from '../dialect.js'
import { nestedColumns, nestedOrder, quoted, type VersionWords } from '../versiontext.js'

const column = sql.ref('_extra')

export const extra: ExtraSql = {
  has: (name) => sql`jsonb_exists(${column}, ${name})`,
  member: (name) => sql`(${column} -> ${name}::text)::text`,
  exact: (name) => sql`${sql.ref(name)}::text`,
}

/** Instants in canonical form: Postgres would omit zeros and write the zone in digits. */
function asJson({ name, kind }: Column): string {
  const value = `c.${quoted(name)}`
  if (kind !== 'timestamp') return value
  return `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ${quoted(name)}`
}

function rowsOf(table: Table, root: string, from: string): string {
  const columns = nestedColumns(table).map(asJson)
  const order = nestedOrder(table).map((name) => `n.${quoted(name)}`)
  return `(select coalesce(jsonb_agg(to_jsonb(n) order by ${order.join(', ')}), '[]'::jsonb) from (select ${columns.join(', ')} from ${from} as c where c.tenant_id = ${root}.tenant_id and c.${quoted(table.owner ?? '')} = ${root}.id) as n)`
}

export const versionWords = (schema: string): VersionWords => {
  const from = (table: string): string => `${quoted(schema)}.${quoted(table)}`
  return {
    from,
    within: (parameter) => `= any(${parameter}::bigint[])`,
    instant: (parameter) => `${parameter}::timestamptz`,
    nested: (children, root) => {
      const lists = children.map((table) => `'${table.name}', ${rowsOf(table, root, from(table.name))}`)
      return `jsonb_build_object(${lists.join(', ')})`
    },
  }
}

export const listed: DialectSql['listed'] = (parameter, columns) => {
  const picked = columns.map(
    ({ name, kind }, i) => `(item ->> ${i})::${columnTypes[kind].postgres} as ${quoted(name)}`,
  )
  return `(select ${picked.join(', ')} from jsonb_array_elements(${parameter}::jsonb) as listed(item))`
}

const dayRows: CalendarSql['dayRows'] = (runs) => {
  const values = runs.map(
    ({ first, days, start }) => sql`(${sql.lit(first)}, ${sql.lit(days)}, ${sql.lit(start)})`,
  )
  const day = sql`date '1970-01-01' + (first + i)`
  return sql`select first + i as n, to_timestamp(start + i * 86400.0) as from_at,
      ${day} as day, cast(date_trunc('month', ${day}) as date) as month, case when i = 0 then 1 end as stretch
    from (values ${sql.join(values)}) as runs(first, days, start), generate_series(0, days - 1) as i`
}

/** The views find days in `report_days`, and what clocks show in the run that an instant is in. */
const utcDayRows: CalendarSql['utcDayRows'] = (runs) => {
  const values = runs.map(
    ({ first, start, end, offset }) =>
      sql`(${sql.lit(first)}, ${sql.lit(start)}, ${sql.lit(end)}, ${sql.lit(offset)})`,
  )
  const shown = (seconds: string, form: string) =>
    sql`to_char(to_timestamp(${sql.raw(seconds)}) at time zone 'UTC', ${sql.lit(form)})`
  return sql`select ${shown('begins', 'YYYY-MM-DD')} as utc_day, to_timestamp(begins) as from_at,
      to_timestamp(ends) as to_at, date '1970-01-01' + first as day,
      ${shown('begins + ahead', 'YYYY-MM-DD HH24:MI:SS')} as local_at
    from (values ${sql.join(values)}) as runs(first, begins, ends, ahead)`
}

export const calendar: CalendarSql = { dayRows, utcDayRows }
