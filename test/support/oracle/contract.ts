/**
 * What the warehouse should contain, computed from the API's JSON and the contract's list of tables. For the nested
 * arrays of the contract, nothing comes from schema/ or src/, so a wrong declaration can't agree with itself.
 */
import { isDeepStrictEqual } from 'node:util'
import { resources } from '../../../schema/index.js'
import type { Shape } from '../../../schema/resource.js'

type Json = Record<string, unknown>
export type Rows = Map<string, Json>

/** Where the items of an array go, what identifies them, and the column by which items inside them refer to them. */
interface Child {
  readonly table: string
  readonly key: string
  readonly column?: string
  readonly owner?: string
  readonly arrays?: Readonly<Record<string, Child>>
}

interface Arrays {
  readonly singular: string
  readonly arrays?: Readonly<Record<string, Child>>
}

const parts = (singular: string, names: readonly string[]): Record<string, Child> =>
  Object.fromEntries(names.map((name) => [name, { table: `${singular}_${name}`, key: 'id' }]))

const services = (singular: string): Child => ({
  table: `${singular}_services`,
  key: 'id',
  owner: 'service_id',
  arrays: parts(singular, ['labors', 'parts', 'hazmats', 'sublets', 'inspections']),
})

/** Resource → singular, and for each array: its table and what identifies its rows. */
const shapes: Readonly<Record<string, Arrays>> = {
  canned_jobs: {
    singular: 'canned_job',
    arrays: parts('canned_job', ['sublets', 'inspections', 'vehicles', 'hazmats', 'parts', 'labors']),
  },
  customers: {
    singular: 'customer',
    arrays: {
      phones: { table: 'customer_phones', key: 'position' },
      shop_ids: { table: 'customer_shops', key: 'value', column: 'shop_id' },
    },
  },
  inventories: {
    singular: 'inventory',
    arrays: { tags: { table: 'inventory_tags', key: 'position', column: 'tag' } },
  },
  purchase_records: {
    singular: 'purchase_record',
    arrays: { line_items: { table: 'purchase_record_line_items', key: 'position' } },
  },
  repair_orders: {
    singular: 'repair_order',
    arrays: {
      payments: { table: 'repair_order_payments', key: 'position' },
      services: services('repair_order'),
    },
  },
  recommendations: {
    singular: 'recommendation',
    arrays: { service: services('recommendation') },
  },
}

/** A resource that was added since follows its declaration: one file is all it needs. */
const shapeOf = (resource: string): Arrays => {
  const { singular, fields } = resources[resource] ?? { singular: resource, fields: {} }
  return shapes[resource] ?? { singular, arrays: declared(singular, fields) }
}

const declared = (singular: string, fields: Shape): Record<string, Child> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, member]): [string, Child][] => {
      if (member.type === 'field' || member.type === 'object') return []
      const table = `${singular}_${member.table}`
      if (member.type === 'scalars') return [[name, { table, key: member.key, column: member.column }]]
      const owner = member.ownerColumn === undefined ? {} : { owner: member.ownerColumn }
      return [[name, { table, key: member.key, ...owner, arrays: declared(singular, member.fields) }]]
    }),
  )

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function flat(object: Json, arrays: Arrays['arrays'] = {}, prefix = ''): Json {
  const out: Json = {}
  for (const [name, value] of Object.entries(object)) {
    if (name in arrays || Array.isArray(value)) continue
    if (isObject(value)) Object.assign(out, flat(value, {}, `${prefix}${name}_`))
    else out[prefix + name] = value
  }
  return out
}

export class Oracle {
  readonly tables = new Map<string, Rows>()

  #put(table: string, key: unknown[], row: Json): void {
    const rows = this.tables.get(table) ?? new Map<string, Json>()
    this.tables.set(table, rows)
    rows.set(key.join(' '), row)
  }

  strings(tenant: number, table: string, values: readonly string[]): void {
    for (const name of values) this.#put(table, [tenant, name], { tenant_id: tenant, name })
  }

  record(tenant: number, resource: string, record: Json): void {
    const { singular, arrays } = shapeOf(resource)
    this.#put(resource, [tenant, record.id], { tenant_id: tenant, ...flat(record, arrays) })
    for (const tag of (record.integrator_tags ?? []) as Json[])
      this.#put('integrator_tags', [tenant, tag.id], { tenant_id: tenant, ...flat(tag) })
    this.#items(arrays, { tenant_id: tenant, [`${singular}_id`]: record.id }, record)
  }

  #items(arrays: Arrays['arrays'] = {}, owner: Json, record: Json): void {
    for (const [name, child] of Object.entries(arrays)) {
      const value = record[name]
      const isOne = isObject(value) && Object.keys(value).length > 0
      const items: unknown[] = Array.isArray(value) ? value : isOne ? [value] : []
      for (const [position, item] of items.entries()) this.#item(child, owner, item, position)
    }
  }

  #item(
    { table, key, column, owner: ownColumn, arrays }: Child,
    owner: Json,
    item: unknown,
    position: number,
  ): void {
    const [tenant, ownerId] = Object.values(owner)
    if (column !== undefined) {
      this.#put(table, [tenant, ownerId, key === 'value' ? item : position], {
        ...owner,
        position,
        [column]: item,
      })
      return
    }
    const values = item as Json
    const keys = [tenant, ownerId, key === 'id' ? values.id : position]
    const row = { ...owner, position, ...flat(values, arrays) }
    // One id twice in a record: equal rows count as one; a different one is left out with everything below it.
    const before = this.tables.get(table)?.get(keys.join(' '))
    if (before && !isDeepStrictEqual({ ...row, position: before.position }, before)) return
    if (!before) this.#put(table, keys, row)
    this.#items(arrays, ownColumn === undefined ? owner : { ...owner, [ownColumn]: values.id }, values)
  }
}
