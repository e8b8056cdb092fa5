/* SQL that only SQLite understands: members of `_extra`, stored versions as JSON, the days of a calendar. */

import { type RawBuilder, sql } from 'kysely'
import type { Column, Table } from '../../model/table.js'
import type { CalendarSql, DayRun, DialectSql, EvenClock, ExtraSql } from '../dialect.js'
import { nestedColumns, nestedOrder, quoted, type VersionWords } from '../versiontext.js'
import { utcDay } from './viewsql.js'

/** The path of a member, quoted like JSON, so a dot or a quote in the name is part of the name. */
const path = (name: string): string => `$.${JSON.stringify(name)}`

const column = sql.ref('_extra')

export const extra: ExtraSql = {
  has: (name) => sql`json_type(${column}, ${path(name)}) is not null`,
  member: (name) => sql`${column} -> ${path(name)}`,
  exact: (name) => sql.ref(name),
}

/** A value as JSON: SQLite writes integers and doubles such that reading them returns the same values. */
function asJson({ name, kind }: Column): string {
  const value = `c.${quoted(name)}`
  if (kind === 'json') return `json(${value})`
  if (kind === 'boolean') return `json(case ${value} when 1 then 'true' when 0 then 'false' else 'null' end)`
  return value
}

function rowsOf(table: Table, root: string): string {
  const members = nestedColumns(table).map((column) => `'${column.name}', ${asJson(column)}`)
  const order = nestedOrder(table).map((name) => `c.${quoted(name)}`)
  return `(select json_group_array(json_object(${members.join(', ')}) order by ${order.join(', ')}) from ${quoted(table.name)} as c where c.tenant_id = ${root}.tenant_id and c.${quoted(table.owner ?? '')} = ${root}.id)`
}

export const versionWords: VersionWords = {
  from: quoted,
  within: (parameter) => `in (select value from json_each(${parameter}))`,
  instant: (parameter) => parameter,
  // Concatenated texts: SQLite may forget that JSON returned from a subquery isn't plain text.
  nested: (children, root) => {
    const lists = children.map((table) => `'"${table.name}":' || ${rowsOf(table, root)}`)
    return lists.length === 0 ? "'{}'" : `'{' || ${lists.join(" || ',' || ")} || '}'`
  },
}

export const listed: DialectSql['listed'] = (parameter, columns) =>
  `(select ${columns.map(({ name }, i) => `value ->> ${i} as ${quoted(name)}`).join(', ')} from json_each(${parameter}))`

/** A common table expression with a row for each day: its number, when it begins, whether it begins a run. */
function daysOf(runs: readonly DayRun[]): RawBuilder<unknown> {
  const firsts = runs.map(
    ({ first, days, start }) => sql`(${sql.lit(first)}, ${sql.lit(first + days)}, ${sql.lit(start)}, 1)`,
  )
  // Run by run, so the rows come in the order of their key.
  return sql`with recursive days(n, behind, start, stretch) as (values ${sql.join(firsts)}
    union all select n + 1, behind, start + 86400, null from days where n + 1 < behind order by 1)`
}

/** The same for the days of clocks, and the parts of those on which they change: with their ends and their offsets. */
function clockDaysOf(runs: readonly EvenClock[]): RawBuilder<unknown> {
  const firsts = runs.map(
    ({ first, start, end, offset }) =>
      sql`(${sql.lit(first)}, ${sql.lit(start)}, ${sql.lit(end)}, ${sql.lit(offset)})`,
  )
  const next = sql.raw('(n + 1) * 86400 - ahead')
  return sql`with recursive counted(n, start, behind, ahead) as (values ${sql.join(firsts)}
    union all select n + 1, ${next}, behind, ahead from counted where ${next} < behind order by 2),
    days as (select *, min(${next}, behind) as finish from counted)`
}

const instantOf = (seconds: string): RawBuilder<unknown> =>
  sql`strftime('%Y-%m-%dT%H:%M:%S.000000Z', ${sql.raw(seconds)}, 'unixepoch')`
const dayOf = (seconds: string): RawBuilder<unknown> => sql`date(${sql.raw(seconds)}, 'unixepoch')`

const dayRows: CalendarSql['dayRows'] = (runs) =>
  sql`${daysOf(runs)} select n, ${instantOf('start')} as from_at, ${dayOf('n * 86400')} as day,
    date(n * 86400, 'unixepoch', 'start of month') as month, stretch from days`

const utcDayRows: CalendarSql['utcDayRows'] = (runs) => {
  const midnight = '(start / 86400 + k) * 86400'
  return sql`${clockDaysOf(runs)} select ${dayOf(midnight)} as utc_day, ${instantOf('start')} as from_at,
    ${instantOf('finish')} as to_at, ${dayOf('n * 86400')} as day,
    case when start + ahead <> n * 86400 then datetime(start + ahead, 'unixepoch') end as local_at
    from days join (select 0 as k union all select 1 union all select 2) on ${sql.raw(midnight)} < finish`
}

export const calendar: CalendarSql = { dayRows, utcDayRows, utcDay }
