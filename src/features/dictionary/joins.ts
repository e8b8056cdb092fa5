/** The joins between tables: from the columns that refer to other tables. Used by every format that shows them. */
import type { DictionaryColumn, DictionaryJoin, DictionaryTable } from './dictionary.js'

type Joinable = Pick<DictionaryTable, 'name' | 'key' | 'columns'>

/**
 * A row refers to the id of another within its own tenant, so both columns are compared: ids of two tenants collide,
 * and a join without the tenant returns rows of both. In views, one text stands for both, and they have no key of their
 * own: the join uses the column of the same name, or else the text that is unique there.
 */
function joinOf(column: DictionaryColumn, from: Joinable, target: Joinable): DictionaryJoin {
  const { key } = target
  const shared = key.slice(0, -1)
  const isWithin = shared.every((name) => from.columns.some((own) => own.name === name))
  // An item is identified within its record: two records may have the same item id.
  if (shared.length > 0 && isWithin) return { table: target.name, columns: [...shared, column.name], to: key }
  const same = target.columns.find(({ name }) => name === column.name)
  const unique = target.columns.find(({ name }) => name.endsWith('_key'))
  return { table: target.name, columns: [column.name], to: [(same ?? unique ?? column).name] }
}

/** The joins of a table's rows, in the order of its columns. */
export function joinsOf(from: Joinable, byName: ReadonlyMap<string, Joinable>): DictionaryJoin[] {
  return from.columns.flatMap((column) => {
    const target = byName.get(column.references ?? '')
    return target ? [joinOf(column, from, target)] : []
  })
}

/** The column of a join that identifies the other row; the others give the scope in which it is unique. */
export const namingColumn = ({ columns }: DictionaryJoin): string => columns.at(-1) ?? ''

export interface Incoming {
  readonly from: DictionaryTable
  readonly join: DictionaryJoin
}

/** The joins that lead to each table. */
export function incomingJoins(tables: readonly DictionaryTable[]): ReadonlyMap<string, readonly Incoming[]> {
  const found = new Map<string, Incoming[]>()
  for (const from of tables)
    for (const join of from.joins) found.set(join.table, [...(found.get(join.table) ?? []), { from, join }])
  return found
}
