/**
 * The resources as the rest of the product knows them: composed once, from the declarations and the configuration. Used
 * wherever a resource, its tables or its flatten is needed.
 */
import { derivedTables } from '../../../schema/index.js'
import { field, type Int64, type Kind, kinds, type Resource } from '../../../schema/resource.js'
import { Bug, Stop } from '../base/errors.js'
import { noPrivacy, type Privacy, promotedMark } from '../config/treatment.js'
import type { FlatPage } from './flatten/batch.js'
import { compileFlatten } from './flatten/flatten.js'
import {
  compileForget,
  type ForgetPlan,
  type ForgottenSet,
  type ForgottenSets,
  forgetPlans,
  noneForgotten,
  nothingForgotten,
} from './forgotten.js'
import { historyName, historyTable } from './historytable.js'
import { type HiddenColumn, HiddenPlaces, hiddenColumnsOf, hidePage } from './privacy.js'
import type { LeftColumns, Model, ResourceModel } from './resourcemodel.js'
import { stateTableList } from './state.js'
import type { StateTables } from './statetable.js'
import { derivedTable, placeOf, tablesOf } from './table.js'

/** The configuration of each resource. */
export type Settings = Readonly<
  Record<
    string,
    {
      readonly enabled?: boolean | undefined
      readonly path?: string | undefined
      readonly columns?: Readonly<Record<string, Kind>> | undefined
      readonly history?: boolean | undefined
      /** The fields that make up the names of its records; default: see schema/naming.ts. */
      readonly names?: readonly string[] | undefined
    }
  >
>

function checkNames(resources: Readonly<Record<string, Resource>>, settings: Settings): void {
  for (const name of Object.keys(settings)) {
    if (Object.hasOwn(resources, name)) continue
    throw new Stop(`Configuration: resources.${name} is not a resource`, {
      exitCode: 2,
      hint: `Known resources: ${Object.keys(resources).join(', ')}`,
    })
  }
}

/** The resources as configured. */
const configured = (
  resources: Readonly<Record<string, Resource>>,
  settings: Settings,
  privacy: Privacy,
  left: LeftColumns,
): Resource[] =>
  Object.values(resources).map((resource) => {
    const { columns = {}, history = false, names } = settings[resource.name] ?? {}
    const more = {
      ...(history && resource.list === 'records' && { history }),
      ...(names && { names }),
      ...(left[resource.name] && { left: left[resource.name] ?? {} }),
    }
    const promoted = withColumns(resource, columns)
    const whole = Object.keys(more).length > 0 ? { ...promoted, ...more } : promoted
    const [root] = tablesOf(whole)
    const hidden = root ? hiddenColumnsOf(privacy, root).map(({ name }) => name) : []
    return hidden.length > 0 ? { ...whole, hidden } : whole
  })

/**
 * The hidden columns of all tables, those of the histories too: these have the columns of their resource, and keep the
 * rows of nested lists, whose columns are named like `customer_phones.number` there.
 */
const hiddenColumns = (declared: readonly Resource[], privacy: Privacy): Map<string, HiddenColumn[]> =>
  new Map(
    declared.flatMap((resource) => {
      const tables = tablesOf(resource).map((table) => [table.name, hiddenColumnsOf(privacy, table)] as const)
      const history = historyName(resource)
      const ofVersions = tables.flatMap(([table, columns], i) =>
        columns.map((column) => (i === 0 ? column : { ...column, name: `${table}.${column.name}` })),
      )
      return [...tables, ...(history ? [[history, ofVersions] as const] : [])].filter(
        ([, columns]) => columns.length > 0,
      )
    }),
  )

/** `features`: the features' state tables, for opening a warehouse. `left`: what `withFound` adds. */
export function model(
  resources: Readonly<Record<string, Resource>>,
  settings: Settings = {},
  features: readonly StateTables[] = [],
  privacy: Privacy = noPrivacy,
  left: LeftColumns = {},
): Model {
  checkNames(resources, settings)
  const declared = configured(resources, settings, privacy, left)
  const hidden = hiddenColumns(declared, privacy)
  const [embedded, ...more] = declared.filter((resource) => resource.embeddedAs !== undefined)
  if (more.length > 0) throw new Bug('Only one resource can be embedded in others')
  const derivedOf = (name: string) =>
    Object.values(derivedTables)
      .filter(({ of }) => of === name)
      .map((derived) => ({ declared: derived, table: derivedTable(derived) }))
  const plans = forgetPlans(
    declared,
    (name) => Object.keys({ ...settings[name]?.columns, ...left[name] }),
    (name) => derivedOf(name).map(({ table }) => table),
  )
  const forgotten = noneForgotten()
  const list = declared.map(
    (resource): ResourceModel => ({
      name: resource.name,
      resource,
      tables: tablesOf(resource),
      derived: derivedOf(resource.name),
      history: historyTable(resource),
      path: settings[resource.name]?.path ?? resource.path ?? resource.name,
      enabled: settings[resource.name]?.enabled ?? true,
      promoted: settings[resource.name]?.columns ?? {},
      forgets: plans.get(resource.name),
      ...hidingFlatten(resource, { embedded, hidden, privacy, plans, forgotten }),
    }),
  )
  const tables = [
    ...list.flatMap((entry) => entry.tables),
    ...list.flatMap((entry) => entry.derived.map(({ table }) => table)),
  ]
  return {
    list,
    byName: new Map(list.map((entry) => [entry.name, entry])),
    tables,
    state: stateTableList(features),
    histories: list.flatMap(({ history }) => history ?? []),
    tableByName: new Map(tables.map((table) => [table.name, table])),
    embedded: list.find((entry) => entry.resource === embedded),
    privacy,
    hidden,
    forgotten,
    left,
    withFound: (found) => model(resources, settings, features, { ...privacy, held: found.held }, found.left),
  }
}

/** Nothing behind flatten sees what is hidden. */
function hidingFlatten(
  resource: Resource,
  {
    embedded,
    hidden,
    privacy,
    plans,
    forgotten,
  }: {
    readonly embedded: Resource | undefined
    readonly hidden: ReadonlyMap<string, readonly HiddenColumn[]>
    readonly privacy: Privacy
    readonly plans: ReadonlyMap<string, ForgetPlan>
    readonly forgotten: ForgottenSets
  },
): Pick<ResourceModel, 'flatten' | 'places'> {
  const plain = compileFlatten(resource, { embedded })
  const inside = embedded?.embeddedAs
    ? { name: embedded.embeddedAs, places: new HiddenPlaces(embedded, hidden) }
    : undefined
  const places = new HiddenPlaces(resource, hidden, inside)
  const tables = [...tablesOf(resource), ...(embedded ? tablesOf(embedded) : [])]
  const columns = new Map(
    tables.flatMap((table) => {
      const of = hidden.get(table.name)
      return of ? [[table.name, of.map((one) => ({ ...one, at: placeOf(table, one.name) }))] as const] : []
    }),
  )
  const hiding: ResourceModel['flatten'] =
    columns.size === 0
      ? (_, ...page) => plain(...page)
      : (tenantId, ...page) => hidePage(plain(...page), tenantId, { privacy, places, columns })
  const forget = compileForget(resource, plans, embedded)
  const flatten: ResourceModel['flatten'] = (tenantId, ...page) => {
    const flat = hiding(tenantId, ...page)
    return setOf(forgotten, tenantId) ? withoutForgotten(flat, tenantId) : flat
  }
  const withoutForgotten = (flat: FlatPage, tenantId: Int64): FlatPage => {
    const { generation, records } = setOf(forgotten, tenantId) ?? noSet
    if (records.size === 0) return { ...flat, forgotten: { ...nothingForgotten, generation } }
    const { forgotten: found, ...left } = forget(flat, { generation, records })
    // Of the rows: by then, the body of the response is gone, and its exact numbers with it.
    return { ...left, forgotten: { ...found, again: () => withoutForgotten(left, tenantId) } }
  }
  return { places, flatten }
}

const noSet: ForgottenSet = { generation: 0, records: new Map() }

/** A tenant's forgotten records. undefined while the warehouse has none at all. */
function setOf({ generation, tenants }: ForgottenSets, tenantId: Int64): ForgottenSet | undefined {
  if (generation === 0 && tenants.size === 0) return undefined
  return tenants.get(tenantId) ?? { generation, records: new Map() }
}

/** Postgres truncates longer names, so two columns could get the same name. */
const MAX_NAME = 63

function problem(resource: Resource, name: string, kind: string): string | undefined {
  const taken = tablesOf(resource)[0]?.columns.some((column) => column.name === name)
  if (taken || Object.hasOwn(resource.fields, name)) return 'already exists; remove it from the configuration'
  if (name === '' || name.length > MAX_NAME) return `is not 1 to ${MAX_NAME} characters long`
  if (name.includes('\u0000')) return 'has a character that a column name cannot contain'
  if (!kinds.some((known) => known === kind))
    return `is of the unknown kind ${kind}; known: ${kinds.join(', ')}`
  return undefined
}

/**
 * The resource with additional fields from the configuration. They aren't in the API documentation, and without the
 * configuration their values would be in `_extra`. They are nullable.
 */
export function withColumns(resource: Resource, columns: Readonly<Record<string, Kind>>): Resource {
  const promoted = Object.entries(columns)
  if (promoted.length === 0) return resource
  for (const [name, kind] of promoted) {
    const wrong = problem(resource, name, kind)
    if (wrong === undefined) continue
    throw new Stop(`Configuration: resources.${resource.name}.columns.${name} ${wrong}`, {
      exitCode: 2,
      hint: `\`shopsync dictionary\` shows the columns of ${resource.name}`,
    })
  }
  const fields = promoted.map(([name, kind]) => {
    const doc = 'Not in the API documentation; the configuration made it a column.'
    const personal = promotedMark(resource, name, kind)
    return [name, field(kind, doc, { nullable: true, personal })] as const
  })
  return { ...resource, fields: { ...resource.fields, ...Object.fromEntries(fields) } }
}
