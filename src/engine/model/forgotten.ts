/**
 * Forgotten customers (docs/warehouse.md, Forgetting a customer): which records say something about persons, what of them
 * that is, and which references lead from one to another, all as declared in schema/. warehouse/forgottenclosure.ts follows
 * the references, and forgottenpages.ts leaves out of a page what they lead to.
 */
import type { Int64, Member, Personal, Resource } from '../../../schema/resource.js'
import { Bug } from '../base/errors.js'
import { nameColumn } from './flatten/recordname.js'
import { type HiddenColumn, HiddenPlaces } from './privacy.js'
import { type Column, type Table, tablesOf } from './table.js'

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
