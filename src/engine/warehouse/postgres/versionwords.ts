import type { Column, Table } from '../../model/table.js'
import { nestedColumns, nestedOrder, quoted, type VersionWords } from '../versiontext.js'

/** Instants in the canonical form: Postgres would leave out zeros, and write the zone in digits. */
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
