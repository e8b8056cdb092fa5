/**
 * The words of schema/view.ts, for a database's SQL, the model and the configuration. Tables appear in braces here, as
 * in the declarations; `withTables` inserts their names.
 */
import type { View, ViewColumn, ViewKind, ViewQuery, ViewWords } from '../../../schema/view.js'
import { Bug } from '../../engine/base/errors.js'
import { nameColumn, namesOf } from '../../engine/model/flatten/recordname.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import type { SelectedColumn, ViewSql } from '../../engine/warehouse/views/viewsql.js'
import type { WantedView } from '../../engine/warehouse/views/viewstore.js'

/* A view's query in one database's SQL, from its declaration. The views are made from it. */

/** Tables appear in braces, followed by their alias. */
const tableInBraces = /\{(\w+)\}/g
const tableWithAlias = /\{(\w+)\}\s+(?:as\s+)?(\w+)/g

/** An id is never computed: through any number of subqueries it is a table's column and keeps its type. */
const isOfTable = (alias: string, kind: ViewKind, aliases: ReadonlySet<string>): boolean =>
  aliases.has(alias) || (kind === 'id' && alias !== '')

/** The aliases of warehouse tables: their columns have the tables' types. */
const aliasesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(tableWithAlias)].map(([, , alias = '']) => alias))

/** What `fromNine` makes. */
const ofNine = /^\((.*) \/ 1e9\)$/s

function columnsOf(view: View, query: ViewQuery): SelectedColumn[] {
  const aliases = aliasesIn(query.from)
  return Object.entries(view.columns).map(([name, column]: [string, ViewColumn]) => {
    const sql = query.select[name] ?? 'null'
    const [, alias = ''] = /^(\w+)\.\w+$/.exec(sql) ?? []
    const isPlain = isOfTable(alias, column.kind, aliases)
    const [, nine] = ofNine.exec(sql) ?? []
    return { name, kind: column.kind, sql, nine, isPlain, isStored: column.asStored === true }
  })
}

const isList = (built: ViewQuery | readonly ViewQuery[]): built is readonly ViewQuery[] =>
  Array.isArray(built)

/** The condition by which every view leaves out deleted records. */
const isNotDeleted = /\b(\w+)\._deleted_at is null/g

/** Replaces the braces with table names. Records that are left out are left out wherever deleted ones are. */
export const withTables = (
  text: string,
  sql: ViewSql,
  { unlisted }: Pick<ViewSettings, 'unlisted'>,
): string => {
  const rows = unlisted === 'keep' ? text : text.replaceAll(isNotDeleted, '$& and $1._unlisted_at is null')
  return rows.replaceAll(tableInBraces, (_, name: string) => sql.table(name))
}

function legsOf(view: View, sql: ViewSql, settings: ViewSettings): readonly ViewQuery[] {
  const built = view.build(viewWords(sql, settings))
  return isList(built) ? built : [built]
}

/**
 * The text keys by which a view is joined, as far as each is made from columns of one table. Planners don't look into
 * unions for them.
 */
function textKeys(view: View, legs: readonly ViewQuery[]): WantedView['keys'] {
  const columns = Object.entries(view.columns).filter(
    ([, { isUnique, references }]) => isUnique === true || references !== undefined,
  )
  const [leg, ...others] = legs
  if (!leg || others.length > 0) return []
  const { select, from } = leg
  const tables = new Map([...from.matchAll(tableWithAlias)].map(([, table, alias]) => [alias, table]))
  return columns.flatMap(([name]) => {
    const parts = [...(select[name] ?? '').matchAll(/cast\((\w+)\.(\w+) as text\)/g)]
    const [[, alias = ''] = []] = parts
    const table = tables.get(alias)
    const own = parts.map(([, , column = '']) => column)
    const isKey = keyOf(own.map((column) => `${alias}.${column}`)) === select[name]
    return table !== undefined && own.length > 1 && isKey ? [{ table, columns: own }] : []
  })
}

/** Its query, and the keys by which it is joined. */
export function viewText(
  view: View,
  sql: ViewSql,
  settings: ViewSettings,
): Pick<WantedView, 'query' | 'keys'> {
  const legs = legsOf(view, sql, settings)
  const text = sql.query({
    with: legs.flatMap((leg) => leg.with ?? []).join(',\n'),
    legs: legs.map((leg) => ({ columns: columnsOf(view, leg), from: leg.from })),
  })
  return { query: withTables(text, sql, settings), keys: textKeys(view, legs) }
}

/** What the views depend on besides the declarations. */
export interface ViewSettings {
  readonly model: Model
  /** `report.unlisted`: what to do with records that have left their list (engine/warehouse/store/unlisted.ts). */
  readonly unlisted: 'keep' | 'leave out'
}

const keyOf = (ids: readonly string[]): string => ids.map((id) => `cast(${id} as text)`).join(" || '-' || ")

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** It was made when the record was stored (model/flatten/recordname.ts). */
function nameOf({ model }: ViewSettings, resource: string, alias: string, id: string): string {
  const known = model.byName.get(resource)?.resource
  if (!known || !namesOf(known)) throw new Bug(`${resource} has no names`)
  const fallback = `${quoted(`${known.singular.replaceAll('_', ' ')} `)} || cast(${id} as text)`
  return `coalesce(${alias}.${nameColumn}, ${fallback})`
}

/** A derived table contains no id that its source table doesn't. */
function idsOf({ model }: ViewSettings, resource: string): string {
  const own = `select tenant_id, id from {${resource}}`
  const named = model.tables
    .filter(({ role }) => role !== 'derived')
    .flatMap(({ name, columns }) =>
      columns
        .filter(({ references }) => references === resource)
        .map((column) => ({ name, column: column.name })),
    )
    .map(
      ({ name, column }) =>
        `select distinct tenant_id, ${column} as id from {${name}} where ${column} is not null`,
    )
  return [own, ...named].join(' union ')
}

/** The register knows most of the counts; otherwise the rows are counted. */
function liveRowsOf({ model }: ViewSettings, tenant: string, resource: string): string {
  const counts = model.list.map(
    ({ name }) =>
      `when '${name}' then (select count(*) from {${name}} row_ where row_.tenant_id = ${tenant} and row_._deleted_at is null)`,
  )
  return `coalesce((select register_.live_rows from {sync_registers} register_ where register_.tenant_id = ${tenant} and register_.resource = ${resource}), case ${resource} ${counts.join(' ')} end)`
}

/** Rounds half away from zero. DuckDB's `/` makes fractions, so the remainder is subtracted first. */
const quotient = (dividend: string, divisor: string): string =>
  `cast((${dividend} - ${dividend} % ${divisor}) / ${divisor} as bigint)`

const zoneOf = (tenant: string, shop: string): string =>
  `coalesce((select zone_.zone from {report_zones} zone_ where zone_.tenant_id = ${tenant} and zone_.shop_id = ${shop}), (select zone_.zone from {report_zones} zone_ where zone_.tenant_id = 0 and zone_.shop_id = 0))`

export const viewWords = (sql: ViewSql, settings: ViewSettings): ViewWords => ({
  ...sql,
  key: (...ids) => keyOf(ids),
  name: (resource, alias, id) => nameOf(settings, resource, alias, id),
  tenantName: (tenant) =>
    `coalesce((select tenant_.name from {report_tenants} tenant_ where tenant_.tenant_id = ${tenant}), 'tenant ' || cast(${tenant} as text))`,
  ids: (resource) => idsOf(settings, resource),
  enabled: (resources) => resources.filter((name) => settings.model.byName.get(name)?.enabled ?? false),
  liveRows: (tenant, resource) => liveRowsOf(settings, tenant, resource),
  zone: zoneOf,
  month: (day) => `substr(${sql.dayText(day)}, 1, 7)`,
  fromNine: (whole) => `(${whole} / 1e9)`,
  quotient,
})
