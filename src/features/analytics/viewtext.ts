/** The query of a view in the SQL of one database, from its declaration. The views are made from it. */
import type { View, ViewKind, ViewQuery } from '../../../schema/view.js'
import type { SelectedColumn, ViewSql } from '../../engine/warehouse/viewsql.js'
import { type ViewSettings, viewWords } from './viewwords.js'

/** Tables stand in braces, with the alias behind them. */
const tableInBraces = /\{(\w+)\}/g
const tableWithAlias = /\{\w+\}\s+(?:as\s+)?(\w+)/g

/** An id is never computed: through whatever subqueries, it is a column of a table, and keeps its type. */
const isOfTable = (alias: string, kind: ViewKind, aliases: ReadonlySet<string>): boolean =>
  aliases.has(alias) || (kind === 'id' && alias !== '')

/** The aliases of tables of the warehouse: their columns have the types of the tables. */
const aliasesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(tableWithAlias)].map(([, alias = '']) => alias))

function columnsOf(view: View, query: ViewQuery): SelectedColumn[] {
  const aliases = aliasesIn(query.from)
  return Object.entries(view.columns).map(([name, column]: [string, { kind: ViewKind }]) => {
    const sql = query.select[name] ?? 'null'
    const [, alias = ''] = /^(\w+)\.\w+$/.exec(sql) ?? []
    return { name, kind: column.kind, sql, isPlain: isOfTable(alias, column.kind, aliases) }
  })
}

const isList = (built: ViewQuery | readonly ViewQuery[]): built is readonly ViewQuery[] =>
  Array.isArray(built)

/** Puts the names of tables in place of the braces. */
export const withTables = (text: string, sql: ViewSql): string =>
  text.replaceAll(tableInBraces, (_, name: string) => sql.table(name))

export function viewText(view: View, sql: ViewSql, settings: ViewSettings): string {
  const built = view.build(viewWords(sql, settings))
  const legs = isList(built) ? built : [built]
  const text = sql.query({
    with: legs.flatMap((leg) => leg.with ?? []).join(',\n'),
    legs: legs.map((leg) => ({ columns: columnsOf(view, leg), from: leg.from })),
  })
  return withTables(text, sql)
}
