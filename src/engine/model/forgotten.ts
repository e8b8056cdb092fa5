/**
 * Forgotten customers (docs/warehouse.md, Forgetting a customer): which records say something about persons, what of them
 * that is, and which references lead from one to another, all as declared in schema/; and what leaves out of a page what
 * belongs to somebody who is forgotten. warehouse/hiding/forgottenclosure.ts follows the references.
 */
import type { Int64, Member, Personal, Resource } from '../../../schema/resource.js'
import { Bug } from '../base/errors.js'
import type { FlatPage, PageForgotten, Tuple, Value } from './flatten/batch.js'
import { nameColumn } from './flatten/recordname.js'
import { type HiddenColumn, HiddenPlaces } from './privacy.js'
import { type Column, placeOf, type Table, tablesOf } from './table.js'

/** What an entry says about a record; see the column `state` of sync_forgotten_records. */
export type ForgottenState = 'hidden' | 'expected' | 'kept' | 'wanted'

/** The records of one tenant that were forgotten. */
export interface ForgottenSet {
  /** How often the warehouse's sets had changed by then. */
  readonly generation: Int64
  /** By resource and id. */
  readonly records: ReadonlyMap<string, ReadonlyMap<Int64, ForgottenState>>
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

/** A declared reference between records that may say something about a person. */
export interface PersonalReference {
  readonly from: string
  /** The table that has it: the resource's own, or that of a nested list. */
  readonly table: string
  /** The column with the id of the record that refers. */
  readonly owner: string
  /** The column with the id of the record that it refers to. */
  readonly column: string
  readonly to: string
  /** It refers to that resource only where this column has the entity. */
  readonly type?: { readonly column: string; readonly entity: string } | undefined
}

/** How the records of a resource are forgotten. */
export interface ForgetPlan {
  readonly resource: Resource
  /** The tables that its records are written to, its own first. */
  readonly tables: readonly Table[]
  /** From its records to others. */
  readonly references: readonly PersonalReference[]
  /** Those of its references that name the person to whom a record belongs. */
  readonly names: readonly PersonalReference[]
  /** Columns that become null, by table. */
  readonly columns: ReadonlyMap<string, readonly string[]>
  /** What of its records that is. */
  readonly places: HiddenPlaces
}

const isOfPersons = (mark: Personal | undefined): boolean => mark !== undefined && mark.who !== 'staff'

const hasMark = (member: Member): boolean => {
  if (member.type === 'field') return isOfPersons(member.personal)
  if (member.type === 'scalars') return isOfPersons(member.of.personal)
  return Object.values(member.fields).some(hasMark)
}

/** Whether its records may say something about a person: the marks in schema/ decide, never a list. */
const isPersonal = (resource: Resource): boolean =>
  isOfPersons(resource.undeclared) || Object.values(resource.fields).some(hasMark)

const isEmptied = ({ name, computedBy, personal }: Column, isPromoted: (name: string) => boolean): boolean =>
  name === '_extra' || computedBy === nameColumn || isPromoted(name) || isOfPersons(personal)

/** The references of a resource's records. Others, such as those to staff, lead to nobody. */
function referencesOf(resource: Resource, persons: readonly Resource[]): PersonalReference[] {
  const { name: from, fields } = resource
  const plain = tablesOf(resource).flatMap(({ name: table, owner = 'id', columns }) =>
    columns.flatMap(({ name: column, references: to }) =>
      to !== undefined && column !== owner && persons.some(({ name }) => name === to)
        ? [{ from, table, owner, column, to }]
        : [],
    ),
  )
  const typed = Object.entries(fields).flatMap(([column, field]) => {
    if (field.type !== 'field' || field.typedBy === undefined) return []
    const { typedBy } = field
    const type = fields[typedBy]
    const entities = (type?.type === 'field' && type.values) || []
    return persons.flatMap(({ name: to, entity }) =>
      entities.includes(entity)
        ? [{ from, table: from, owner: 'id', column, to, type: { column: typedBy, entity } }]
        : [],
    )
  })
  return [...plain, ...typed]
}

/** In the form that tells which places of a record are hidden. */
const dropped = (names: readonly string[]): HiddenColumn[] =>
  names.map((name) => ({ name, treatment: 'drop', domain: '' }))

/** By resource. Records of other resources are never forgotten with anybody. */
export function forgetPlans(
  declared: readonly Resource[],
  promoted: (resource: string) => readonly string[],
  derived: (resource: string) => readonly Table[],
): ReadonlyMap<string, ForgetPlan> {
  const persons = declared.filter(isPersonal)
  return new Map(
    persons.map((resource) => {
      const names = new Set(promoted(resource.name))
      const tables = [...tablesOf(resource), ...derived(resource.name)]
      const columns = tables.map((table) => {
        const isOwn = (name: string): boolean => table.role === 'root' && names.has(name)
        const personal = table.columns.filter((column) => isEmptied(column, isOwn))
        return [table.name, personal.map(({ name }) => name)] as const
      })
      const references = referencesOf(resource, persons)
      const places = new HiddenPlaces(
        resource,
        new Map(columns.map(([name, nulls]) => [name, dropped(nulls)])),
      )
      const plan: ForgetPlan = {
        resource,
        tables,
        references,
        names: references.filter((one) => persons.some((to) => to.forgettable && to.name === one.to)),
        columns: new Map(columns),
        places,
      }
      return [resource.name, plan]
    }),
  )
}

/** The one resource whose records people name to have them forgotten. */
export function subjectOf(plans: readonly ForgetPlan[]): ForgetPlan {
  const subject = plans.find(({ resource }) => resource.forgettable)
  if (!subject) throw new Bug('No resource has persons')
  return subject
}

/** Of a forgotten person's lists that say something about them, such as telephones, nothing stays. */
export const rowsGo = ({ resource, columns }: ForgetPlan, { name, role }: Table): boolean =>
  resource.forgettable === true && role === 'child' && (columns.get(name)?.length ?? 0) > 0

/** Ends the reason of a quarantined value that was erased. */
export const forgottenReason = ' (erased on request)'

export const isAway = (state: ForgottenState | undefined): boolean =>
  state === 'hidden' || state === 'expected'

/** Of a page that has nothing to do with the sets. */
export const nothingForgotten: PageForgotten = { generation: 0, entering: [], sharing: [], reassigned: [] }

/*
 * Leaves out of a page what belongs to somebody who is forgotten. Flatten does so before anything else sees the page, so
 * every way into the warehouse does; a warehouse in which nobody was forgotten has no sets, and its pages pass untouched.
 */

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

interface Target {
  readonly to: string
  readonly id: Int64
}

/** To what the records of a page refer, by the id of each. */
function targetReader(plan: ForgetPlan): (rows: FlatPage['rows']) => Map<Value, Target[]> {
  const places = plan.references.flatMap(({ table: name, owner, column, to, type }) => {
    const table = plan.tables.find((one) => one.name === name)
    if (!table) return []
    const [ownerAt, at, typeAt] = [owner, column, type?.column ?? ''].map((one) => placeOf(table, one))
    return [{ table: name, ownerAt: ownerAt ?? -1, at: at ?? -1, typeAt: typeAt ?? -1, type, to }]
  })
  return (rows) => {
    const found = new Map<Value, Target[]>()
    for (const { table, ownerAt, at, typeAt, type, to } of places)
      for (const tuple of rows.get(table) ?? []) {
        const id = tuple[at] as Int64 | null
        if (id === null || (type && tuple[typeAt] !== type.entity)) continue
        const owner = tuple[ownerAt] ?? null
        const targets = found.get(owner) ?? []
        found.set(owner, targets)
        targets.push({ to, id })
      }
    return found
  }
}

/**
 * A record that refers to one that is away is away too, unless it names another person. What is behind it follows from
 * what is stored: the commit of the page finds that (warehouse/hiding/forgottenclosure.ts).
 */
function judge(
  plan: ForgetPlan,
  plans: ReadonlyMap<string, ForgetPlan>,
  targetsOf: ReadonlyMap<Value, readonly Target[]>,
  { ids, set }: { readonly ids: readonly Int64[]; readonly set: ForgottenSet },
): Omit<PageForgotten, 'generation'> & { readonly hidden: ReadonlySet<Value> } {
  const own = set.records.get(plan.resource.name)
  const stateOf = ({ to, id }: Target): ForgottenState | undefined => set.records.get(to)?.get(id)
  const isPerson = ({ to }: Target): boolean => plans.get(to)?.resource.forgettable === true
  const hidden = new Set<Value>()
  const [entering, sharing, reassigned]: [Int64[], Int64[], Int64[]] = [[], [], []]
  for (const id of ids) {
    const state = own?.get(id)
    const targets = targetsOf.get(id) ?? []
    const persons = targets.filter(isPerson)
    const isOthers = persons.length > 0 && !persons.some((one) => isAway(stateOf(one)))
    const leadsAway = !isOthers && targets.some((one) => isAway(stateOf(one)))
    // What was kept for others stays so, unless the commit finds otherwise.
    if (state === 'kept' || state === 'wanted') {
      if (leadsAway) entering.push(id)
    } else if (state === 'hidden' || leadsAway || (state === 'expected' && !isOthers)) {
      hidden.add(id)
      if (isOthers || plan.resource.forgettable) reassigned.push(id)
      if (state !== 'hidden' || targets.some((one) => !isPerson(one) && stateOf(one) === undefined))
        entering.push(id)
    } else if (
      isOthers &&
      (isAway(state) ||
        targets.some((one) => plans.get(one.to)?.resource.shared && stateOf(one) === 'hidden'))
    )
      sharing.push(id)
  }
  return { hidden, entering, sharing, reassigned }
}

const noneHidden: ReturnType<typeof judge> = { ...nothingForgotten, hidden: new Set() }

/** Makes what leaves out of a resource's pages what belongs to forgotten customers. */
export function compileForget(
  resource: Resource,
  plans: ReadonlyMap<string, ForgetPlan>,
  embedded: Resource | undefined,
): (page: FlatPage, set: ForgottenSet) => FlatPage & { readonly forgotten: PageForgotten } {
  const plan = plans.get(resource.name)
  const inside = embedded && embedded.name !== resource.name ? plans.get(embedded.name) : undefined
  const targets = plan && targetReader(plan)
  const insideTargets = inside && targetReader(inside)
  const tables = plan ? placesOf(plan) : []
  const [insideTable] = inside ? placesOf(inside) : []
  const [root] = tables
  return (page, set) => {
    const ids = ((root && page.rows.get(root.table.name)) ?? []).map(
      (tuple) => tuple[root?.owner ?? 0] as Int64,
    )
    const judged = plan && targets ? judge(plan, plans, targets(page.rows), { ids, set }) : noneHidden
    const { hidden } = judged
    const rows = new Map(page.rows)
    for (const places of hidden.size > 0 ? tables : []) leaveOut(rows, places, hidden)
    let isTagged = false
    if (inside && insideTable && insideTargets) {
      const isTheirs = ({ to, id }: Target): boolean =>
        (to === resource.name && hidden.has(id)) || isAway(set.records.get(to)?.get(id))
      const tagged = [...insideTargets(rows)].flatMap(([id, all]) => (all.some(isTheirs) ? [id] : []))
      isTagged = tagged.length > 0
      leaveOut(rows, insideTable, new Set(tagged))
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
    const { hidden: _, ...found } = judged
    return { ...page, rows, quarantine, drift, forgotten: { ...found, generation: set.generation } }
  }
}

function leaveOut(
  rows: Map<string, Tuple[]>,
  { table, owner, nulls, isGone }: Places,
  hidden: ReadonlySet<Value>,
): void {
  const tuples = rows.get(table.name) ?? []
  const isTheirs = (tuple: Tuple): boolean => hidden.has(tuple[owner] ?? null)
  if (isGone)
    rows.set(
      table.name,
      tuples.filter((tuple) => !isTheirs(tuple)),
    )
  else for (const tuple of tuples) if (isTheirs(tuple)) for (const at of nulls) tuple[at] = null
}
