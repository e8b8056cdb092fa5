/**
 * Forgotten customers (docs/warehouse.md, Forgetting a customer): which records are forgotten with whom, as the
 * declarations say (`forgets` in schema/resource.ts), and how a page leaves out what says something about them. Flatten
 * does so before anything else sees the page, so every way into the warehouse does. warehouse/forgottensets.ts keeps the
 * sets; a warehouse in which nobody was forgotten has none, and its pages pass untouched.
 */
import type { Field, Int64, Resource } from '../../../schema/resource.js'
import type { FlatPage, PageForgotten, Tuple, Value } from './flatten/batch.js'
import { nameColumn } from './flatten/recordname.js'
import { type HiddenColumn, HiddenPlaces } from './privacy.js'
import { type Column, placeOf, type Table, tablesOf } from './table.js'

/** The records of one tenant that were forgotten. */
export interface ForgottenSet {
  /** How often the warehouse's sets had changed by then. */
  readonly generation: Int64
  /** By resource and id. false: the record is known, and isn't hidden. */
  readonly records: ReadonlyMap<string, ReadonlyMap<Int64, boolean>>
}

/** The sets of all tenants. The warehouse fills them under its lease. */
export interface ForgottenSets {
  /** For tenants that have no set. */
  generation: Int64
  tenants: Map<Int64, ForgottenSet>
  /** The tables of versions that exist. */
  histories: readonly string[]
}

export const noneForgotten = (): ForgottenSets => ({ generation: 0, tenants: new Map(), histories: [] })

/** A field of a resource's records by which one is forgotten with another. */
export interface ForgetLink {
  readonly column: string
  /** The resource to whose records it refers. undefined: the field `typedBy` says it. */
  readonly of: string | undefined
  readonly typedBy: string | undefined
}

/** How the records of a resource are forgotten. */
export interface ForgetPlan {
  readonly resource: Resource
  /** The tables that its records are written to, its own first. */
  readonly tables: readonly Table[]
  /** Other records are forgotten with these, so their ids are kept. */
  readonly isEntered: boolean
  readonly self: readonly ForgetLink[]
  readonly other: readonly ForgetLink[]
  /** Columns that become null, by table. */
  readonly columns: ReadonlyMap<string, readonly string[]>
  /** What of its records that is. */
  readonly places: HiddenPlaces
}

const linksOf = (resource: Resource, forgets: Field['forgets']): ForgetLink[] =>
  Object.entries(resource.fields).flatMap(([column, field]) =>
    field.type === 'field' && field.forgets === forgets
      ? [{ column, of: field.references, typedBy: field.typedBy }]
      : [],
  )

/** Whether a link may refer to records of a resource. */
export const refersTo = ({ of, typedBy }: ForgetLink, from: Resource, to: Resource): boolean => {
  if (of !== undefined) return of === to.name
  const type = from.fields[typedBy ?? '']
  return type?.type === 'field' && (type.values?.includes(to.entity) ?? false)
}

const isPersonal = ({ name, computedBy, personal }: Column, isPromoted: (name: string) => boolean): boolean =>
  name === '_extra' ||
  computedBy === nameColumn ||
  isPromoted(name) ||
  (personal !== undefined && personal.who !== 'staff')

/** In the form that tells which places of a record are hidden. */
const dropped = (names: readonly string[]): HiddenColumn[] =>
  names.map((name) => ({ name, treatment: 'drop', domain: '' }))

/** By resource, in the order in which records are found: owners before what is theirs. Others are never forgotten. */
export function forgetPlans(
  declared: readonly Resource[],
  promoted: (resource: string) => readonly string[],
  derived: (resource: string) => readonly Table[],
): ReadonlyMap<string, ForgetPlan> {
  const found = new Map(declared.flatMap((one) => (one.forgettable ? [[one.name, one] as const] : [])))
  // What is added is looked at in its turn.
  for (const owner of found.values())
    for (const one of declared) {
      const isTheirs = linksOf(one, 'self').some((link) => refersTo(link, one, owner))
      const isShared = linksOf(owner, 'other').some((link) => refersTo(link, owner, one))
      if (isTheirs || isShared) found.set(one.name, one)
    }
  const all = [...found.values()]
  return new Map(
    all.map((resource) => {
      const names = new Set(promoted(resource.name))
      const tables = [...tablesOf(resource), ...derived(resource.name)]
      const columns = tables.map((table) => {
        const isOwn = (name: string): boolean => table.role === 'root' && names.has(name)
        const personal = table.columns.filter((column) => isPersonal(column, isOwn))
        return [table.name, personal.map(({ name }) => name)] as const
      })
      const isEntered =
        resource.forgettable === true ||
        all.some((one) => linksOf(one, 'self').some((link) => refersTo(link, one, resource)))
      const links = { self: linksOf(resource, 'self'), other: linksOf(resource, 'other') }
      const places = new HiddenPlaces(
        resource,
        new Map(columns.map(([name, nulls]) => [name, dropped(nulls)])),
      )
      return [resource.name, { resource, tables, isEntered, ...links, columns: new Map(columns), places }]
    }),
  )
}

const noRecords: ReadonlyMap<Int64, boolean> = new Map()

/** Of a forgotten person's lists that say something about them, such as telephones, nothing stays. */
export const rowsGo = ({ resource, columns }: ForgetPlan, { name, role }: Table): boolean =>
  resource.forgettable === true && role === 'child' && (columns.get(name)?.length ?? 0) > 0

/** The places of a resource's columns in tuples. */
interface Places {
  readonly table: Table
  readonly owner: number
  readonly nulls: readonly number[]
  readonly isGone: boolean
}

const placesOf = (plan: ForgetPlan): Places[] =>
  plan.tables.map((table) => ({
    table,
    owner: placeOf(table, table.owner ?? 'id'),
    nulls: (plan.columns.get(table.name) ?? []).map((name) => placeOf(table, name)),
    isGone: rowsGo(plan, table),
  }))

/** Whether a record is forgotten with another one. `names`: resources by entity. */
function linkReader(
  { self, tables: [root] }: ForgetPlan,
  names: ReadonlyMap<string, string>,
): (tuple: Tuple, isHidden: (resource: string, id: Value) => boolean) => boolean {
  const links = self.map(({ column, of, typedBy }) => ({
    of,
    at: root ? placeOf(root, column) : -1,
    typeAt: root && typedBy !== undefined ? placeOf(root, typedBy) : -1,
  }))
  return (tuple, isHidden) =>
    links.some(({ of, at, typeAt }) => {
      const name = of ?? names.get(String(tuple[typeAt]))
      return name !== undefined && isHidden(name, tuple[at] ?? null)
    })
}

/** Ends the reason of a quarantined value that was erased. */
export const forgottenReason = ' (erased on request)'

/** Makes what leaves out of a resource's pages what belongs to forgotten customers. */
export function compileForget(
  resource: Resource,
  plans: ReadonlyMap<string, ForgetPlan>,
  embedded: Resource | undefined,
): (page: FlatPage, set: ForgottenSet) => FlatPage & { readonly forgotten: PageForgotten } {
  const plan = plans.get(resource.name)
  const inside = embedded && embedded.name !== resource.name ? plans.get(embedded.name) : undefined
  const names = new Map([...plans.values()].map(({ resource: one }) => [one.entity, one.name]))
  const reader = plan && linkReader(plan, names)
  const insideReader = inside && linkReader(inside, names)
  const tables = plan ? placesOf(plan) : []
  const [insideTable] = inside ? placesOf(inside) : []
  const [root] = tables
  const shared =
    (root && plan?.other.map(({ column, of = '' }) => ({ of, at: placeOf(root.table, column) }))) ?? []
  return (page, set) => {
    const own = set.records.get(resource.name) ?? noRecords
    const hidden = new Set<Value>()
    const isHidden = (name: string, id: Value): boolean =>
      (name === resource.name && hidden.has(id)) || set.records.get(name)?.get(id as Int64) === true
    const [entering, sharing]: [Int64[], Int64[]] = [[], []]
    for (const tuple of (root && page.rows.get(root.table.name)) ?? []) {
      const id = tuple[root?.owner ?? 0] as Int64
      const targets = shared.map(({ of, at }) => ({ of, id: tuple[at] as Int64 | null }))
      if (own.get(id) === true || reader?.(tuple, isHidden)) {
        hidden.add(id)
        const isNews =
          !own.has(id) || targets.some((one) => one.id !== null && !set.records.get(one.of)?.has(one.id))
        if (plan?.isEntered && isNews) entering.push(id)
      } else if (targets.some((one) => isHidden(one.of, one.id))) sharing.push(id)
    }
    const rows = new Map(page.rows)
    for (const { table, owner, nulls, isGone } of hidden.size > 0 ? tables : []) {
      const tuples = rows.get(table.name) ?? []
      if (isGone)
        rows.set(
          table.name,
          tuples.filter((tuple) => !hidden.has(tuple[owner] ?? null)),
        )
      else for (const tuple of tuples) if (hidden.has(tuple[owner] ?? null)) blank(tuple, nulls)
    }
    let isTagged = false
    for (const tuple of (insideTable && rows.get(insideTable.table.name)) ?? [])
      if (insideReader?.(tuple, isHidden)) {
        isTagged = true
        blank(tuple, insideTable?.nulls ?? [])
      }
    const shown = new Set(page.records.map(({ id }) => String(id)))
    const texts = new Set([...hidden].map(String))
    // Whose a record is that couldn't be stored isn't known.
    const quarantine = page.quarantine.map((entry) =>
      plan &&
      (texts.has(entry.recordId) || !shown.has(entry.recordId)) &&
      !entry.reason.endsWith(forgottenReason)
        ? { ...entry, value: null, reason: entry.reason + forgottenReason }
        : entry,
    )
    const isDoubtful = isTagged || hidden.size > 0 || quarantine.some(({ value }) => value === null)
    const drift = isDoubtful
      ? page.drift.flatMap((entry) =>
          entry.detail !== '' && plan?.places.hides(entry.path) ? [] : [{ ...entry, example: null }],
        )
      : page.drift
    const forgotten = { generation: set.generation, entering, sharing }
    return { ...page, rows, quarantine, drift, forgotten }
  }
}

function blank(tuple: Tuple, places: readonly number[]): void {
  for (const at of places) tuple[at] = null
}
