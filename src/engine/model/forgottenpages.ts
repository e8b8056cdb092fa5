/**
 * Leaves out of a page what belongs to somebody who is forgotten. Flatten does so before anything else sees the page, so
 * every way into the warehouse does; a warehouse in which nobody was forgotten has no sets, and its pages pass untouched.
 */
import type { Int64, Resource } from '../../../schema/resource.js'
import type { FlatPage, PageForgotten, Tuple, Value } from './flatten/batch.js'
import {
  type ForgetPlan,
  type ForgottenSet,
  type ForgottenState,
  forgottenReason,
  isAway,
  rowsGo,
} from './forgotten.js'
import { placeOf, type Table } from './table.js'

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
 * what is stored: the commit of the page finds that (warehouse/forgottenclosure.ts).
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
      if (isOthers) reassigned.push(id)
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

const nothing: ReturnType<typeof judge> = { hidden: new Set(), entering: [], sharing: [], reassigned: [] }

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
    const judged = plan && targets ? judge(plan, plans, targets(page.rows), { ids, set }) : nothing
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
    return { ...page, rows, quarantine, drift, forgotten: { generation: set.generation, ...found } }
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
