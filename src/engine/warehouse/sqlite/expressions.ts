/* SQL that only SQLite understands: members of `_extra`, stored versions as JSON, the days of a calendar. */

import { sql } from 'kysely'
import { columnTypes } from '../../model/columntypes.js'
import type { Column, Table } from '../../model/table.js'
import type { DialectSql, ExtraSql, VersionWords } from '../dialect.js'
import { nestedColumns, nestedOrder, quoted } from '../store/versions.js'
import { utcDay } from './views/viewsql.js'

/** The path of a member, quoted like JSON, so a dot or a quote in the name is part of the name. */
const path = (name: string): string => `$.${JSON.stringify(name)}`

const column = sql.ref('_extra')

const extra: ExtraSql = {
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

const versionWords: VersionWords = {
  from: quoted,
  within: (parameter) => `in (select value from json_each(${parameter}))`,
  instant: (parameter) => parameter,
  // Concatenated texts: SQLite may forget that JSON returned from a subquery isn't plain text.
  nested: (children, root) => {
    const lists = children.map((table) => `'"${table.name}":' || ${rowsOf(table, root)}`)
    return lists.length === 0 ? "'{}'" : `'{' || ${lists.join(" || ',' || ")} || '}'`
  },
}

const listed: DialectSql['listed'] = (parameter, columns) =>
  `(select ${columns.map(({ name }, i) => `value ->> ${i} as ${quoted(name)}`).join(', ')} from json_each(${parameter}))`

const dayRows: DialectSql['dayRows'] = (first, end) =>
  sql`with recursive days(n) as (select ${sql.lit(first)} union all select n + 1 from days where n + 1 < ${sql.lit(end)})
    select n, date(n * 86400, 'unixepoch') as day, date(n * 86400, 'unixepoch', 'start of month') as month from days`

export const dialectSql: DialectSql = {
  columnType: (kind) => columnTypes[kind].sqlite,
  numbers: 'double',
  extra,
  dayRows,
  utcDay,
  versionWords,
  listed,
}
