/* SQL that only Postgres understands: members of `_extra`, stored versions as JSON, the days of a calendar. */

import { sql } from 'kysely'
import { columnTypes } from '../../model/columntypes.js'
import type { Column, Table } from '../../model/table.js'
import type { DialectSql, ExtraSql, VersionWords } from '../dialect.js'
import { nestedColumns, nestedOrder, quoted } from '../store/versions.js'

const column = sql.ref('_extra')

const extra: ExtraSql = {
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

const versionWords = (schema: string): VersionWords => {
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

const listed: DialectSql['listed'] = (parameter, columns) => {
  const picked = columns.map(
    ({ name, kind }, i) => `(item ->> ${i})::${columnTypes[kind].postgres} as ${quoted(name)}`,
  )
  return `(select ${picked.join(', ')} from jsonb_array_elements(${parameter}::jsonb) as listed(item))`
}

const dayRows: DialectSql['dayRows'] = (first, end) => {
  const day = sql`date '1970-01-01' + n`
  return sql`select n, ${day} as day, cast(date_trunc('month', ${day}) as date) as month
    from generate_series(${sql.lit(first)}, ${sql.lit(end - 1)}) as n`
}

export const dialectSql = (schema: string): DialectSql => ({
  columnType: (kind) => columnTypes[kind].postgres,
  numbers: 'numeric',
  extra,
  dayRows,
  versionWords: versionWords(schema),
  listed,
})
