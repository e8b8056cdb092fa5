/**
 * A customer whose every personal field, and what belongs to them, has a marker: for the laws about forgotten customers.
 * Nothing else in the sandbox has it.
 */
import { resources } from '../../../schema/index.js'
import type { Member, Resource, Shape } from '../../../schema/resource.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import type { Address } from '../harness/place.js'
import { known } from '../harness/runs.js'
import { lookAt, rowsOf } from '../harness/warehouse.js'
import { everything } from './hidden.js'

export const marker = 'zqmark'
/** In the vehicle that another customer has too. */
export const keptMark = 'zqkept'

const declared = resources as Readonly<Record<string, Resource>>

/** The resources whose records are forgotten with a customer. */
export const forgettable: readonly string[] = known.list.flatMap(({ name, forgets }) =>
  forgets ? [name] : [],
)

let serial = 0
let word = marker
const mark = (name: string): string => `${word}-${name}-${++serial}`

/** The same value with a marker in every text that says something about a customer, a card, or anybody. */
function markedValue(value: unknown, member: Member, name: string): unknown {
  if (member.type === 'field')
    return member.personal && member.personal.who !== 'staff' && member.kind === 'text' ? mark(name) : value
  if (member.type === 'scalars' || value === null || value === undefined) return value
  if (Array.isArray(value)) return value.map((item) => marked(item as object, member.fields))
  return Object.keys(value).length === 0 ? value : marked(value as object, member.fields)
}

function marked(record: object, fields: Shape): Record<string, unknown> {
  const all: Record<string, unknown> = { ...record }
  for (const [name, member] of Object.entries(fields)) all[name] = markedValue(all[name], member, name)
  return all
}

export interface MarkedCustomer {
  readonly tenant: number
  readonly customer: number
  readonly orders: readonly number[]
  readonly vehicle: number
  /** Theirs and another customer's. */
  readonly sharedVehicle: number
  /** Puts new markers into everything, as new versions. */
  update(): void
  /** Their records, by resource. */
  readonly records: ReadonlyMap<string, readonly number[]>
}

/**
 * Gives a customer of the tenant records of every kind, and markers in all of them. Those of another tenant have the same
 * ids; `as`: another marker.
 */
export function markCustomer({ store }: Sandbox, tenant: number, as = marker): MarkedCustomer {
  word = as
  const orders = store.all(tenant, 'repair_orders')
  const [first] = orders
  const customer = 900_001
  const [vehicle, sharedVehicle] = [900_011, 900_012]
  const records = new Map<string, number[]>()
  const template = (resource: string): Record<string, unknown> => {
    const one = store.all(tenant, resource).find(({ id }) => Number(id) < 900_000)
    return { ...one }
  }
  const tag = (entity: string, id: number) => ({
    id: 950_000 + ++serial,
    taggable_type: entity,
    taggable_id: id,
    name: 'external',
    value: mark('tag'),
    created_at: '2026-01-02T00:00:00Z',
    updated_at: '2026-01-02T00:00:00Z',
  })
  const put = (resource: string, id: number, fields: object, isPersonal = true): void => {
    const base = { ...template(resource), ...fields, id }
    const { entity, fields: shape } = declared[resource] as Resource
    const personal = isPersonal && resource !== 'integrator_tags'
    const whole = {
      ...(personal ? marked(base, shape) : base),
      ...(personal && { undocumented: mark(`${resource}_extra`), nested: { deep: mark('deep') } }),
      ...(personal &&
        resource !== 'notes' &&
        resource !== 'past_recommendations' && { integrator_tags: [tag(entity, id)] }),
    }
    records.set(resource, [...(records.get(resource) ?? []), id])
    store.put(tenant, resource, { ...whole, updated_at: '2026-02-03T04:05:06Z' })
    store.change(tenant, resource, id, {})
  }
  const other = orders.find(({ customer_id }) => customer_id !== null)?.customer_id
  put('customers', customer, {
    phones: [
      { number: '1', national: '1', international: '1', country_code: '1', label: 'x', preferred: true },
    ],
  })
  put('vehicles', vehicle, {})
  put('vehicles', sharedVehicle, { undocumented: keptMark }, false)
  const ids = [900_101, 900_102, 900_103]
  for (const [i, id] of ids.entries()) {
    put('repair_orders', id, { customer_id: customer, vehicle_id: i === 2 ? sharedVehicle : vehicle })
    for (const resource of ['notes', 'appointments', 'assignments', 'payments', 'recommendations'])
      put(resource, id + 1000, { repair_order_id: id })
    put('payment_transactions', id + 1000, { repair_order_id: id, payment_id: id + 1000 })
    put('integrator_tags', id + 7000, tag('Payment', id + 1000))
  }
  put('past_recommendations', 900_301, { vehicle_id: vehicle })
  // The order of another customer.
  store.put(tenant, 'repair_orders', { ...first, id: 900_199, customer_id: other, vehicle_id: sharedVehicle })
  store.change(tenant, 'repair_orders', 900_199, {})
  // A value that can't be stored as it came, and one that its enumeration doesn't have.
  store.change(tenant, 'payments', 901_101, { amount_cents: mark('quarantined') })
  const update = (): void => {
    for (const [resource, all] of records)
      for (const id of all) {
        const stored = store.stored(tenant, resource, id)
        if (!stored) continue
        const text = JSON.stringify(stored, (_, value: unknown) =>
          typeof value === 'string' && value.startsWith(as) ? `${value}-again` : value,
        )
        store.change(tenant, resource, id, JSON.parse(text) as Record<string, unknown>)
      }
  }
  return { tenant, customer, orders: ids, vehicle, sharedVehicle, update, records }
}

/** Gives every record of the tenant a reference that leads to somebody: then `forget` exits with 0. */
export function nobodysTo({ store }: Sandbox, tenant: number): void {
  const [order] = store.all(tenant, 'repair_orders')
  const used = new Set(store.all(tenant, 'repair_orders').map(({ vehicle_id }) => vehicle_id))
  for (const { id, repair_order_id } of store.all(tenant, 'appointments'))
    if (repair_order_id === null)
      store.change(tenant, 'appointments', Number(id), { repair_order_id: order?.id })
  for (const { id } of store.all(tenant, 'vehicles'))
    if (!used.has(id)) store.remove(tenant, 'vehicles', Number(id))
}

/** Where the marker is. */
export const leaks = async (address: Address, as = marker): Promise<string[]> => [
  ...new Set((await everything(address)).match(new RegExp(`${as}[\\w-]*`, 'g')) ?? []),
]

/** All rows of records, those of other customers and tenants whole, of the forgotten one's without personal columns. */
export const books = (address: Address, { tenant, records }: MarkedCustomer): Promise<unknown> =>
  lookAt(address, async (warehouse) => {
    const all: Record<string, unknown> = {}
    for (const table of warehouse.model.tables) {
      const { columns, name, owner = 'id', resource } = table
      const theirs = new Set(records.get(resource) ?? [])
      const rows = await rowsOf(warehouse, name)
      const isTheirs = (row: Record<string, unknown>): boolean =>
        row['tenant_id'] === tenant &&
        (theirs.has(Number(row[owner])) || Number(row['taggable_id'] ?? 0) >= 900_000)
      all[name] = rows.flatMap((row) => {
        if (!isTheirs(row)) return [row]
        if (name === 'customer_phones') return []
        const kept = columns.filter(
          (column) =>
            column.name !== '_extra' &&
            // Forgetting stamps them, for copies that are continued (docs/increments.md).
            column.name !== '_synced_at' &&
            column.computedBy !== '_name' &&
            (!column.personal || column.personal.who === 'staff'),
        )
        return [Object.fromEntries(kept.map((column) => [column.name, row[column.name]]))]
      })
    }
    return all
  })
