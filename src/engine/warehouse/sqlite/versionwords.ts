import type { Column, Table } from '../../model/table.js'
import { nestedColumns, nestedOrder, quoted, type VersionWords } from '../versiontext.js'

/** A value as JSON: SQLite writes integers and doubles so that they are read back as they were. */
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
  // Texts put together: of JSON that a subquery returns, SQLite may forget that it is no plain text.
  nested: (children, root) => {
    const lists = children.map((table) => `'"${table.name}":' || ${rowsOf(table, root)}`)
    return lists.length === 0 ? "'{}'" : `'{' || ${lists.join(" || ',' || ")} || '}'`
  },
}
