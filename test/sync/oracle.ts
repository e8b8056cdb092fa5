/**
 * What the warehouse should hold, worked out from the API's JSON and the contract's list of tables alone: no word of
 * it comes from schema/ or src/, so that a wrong declaration cannot agree with itself.
 */
type Json = Record<string, unknown>
export type Rows = Map<string, Json>

const service = {
  labors: 'labors',
  parts: 'parts',
  hazmats: 'hazmats',
  sublets: 'sublets',
  inspections: 'inspections',
}

/** Resource → singular, and per array: its table and what tells its rows apart. */
const shapes: Record<
  string,
  { singular: string; arrays?: Record<string, { table: string; key: string; column?: string }> }
> = {
  canned_jobs: {
    singular: 'canned_job',
    arrays: Object.fromEntries(
      ['sublets', 'inspections', 'vehicles', 'hazmats', 'parts', 'labors'].map((name) => [
        name,
        { table: `canned_job_${name}`, key: 'id' },
      ]),
    ),
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
      services: { table: 'repair_order_services', key: 'id' },
    },
  },
  recommendations: {
    singular: 'recommendation',
    arrays: { service: { table: 'recommendation_services', key: 'id' } },
  },
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function flat(object: Json, prefix = ''): Json {
  const out: Json = {}
  for (const [name, value] of Object.entries(object)) {
    if (isObject(value) && name !== 'service') Object.assign(out, flat(value, `${prefix}${name}_`))
    else if (!Array.isArray(value) && name !== 'service') out[prefix + name] = value
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
    this.#put(resource, [tenant, record.id], { tenant_id: tenant, ...flat(record) })
    for (const tag of (record.integrator_tags ?? []) as Json[])
      this.#put('integrator_tags', [tenant, tag.id], { tenant_id: tenant, ...flat(tag) })
    const shape = shapes[resource]
    for (const [name, child] of Object.entries(shape?.arrays ?? {})) {
      const value = record[name]
      const items = Array.isArray(value)
        ? value
        : isObject(value) && Object.keys(value).length > 0
          ? [value]
          : []
      const owner = { tenant_id: tenant, [`${shape?.singular}_id`]: record.id }
      for (const [position, item] of items.entries())
        this.#item(child, owner, item, position, shape?.singular ?? '')
    }
  }

  #item(
    child: { table: string; key: string; column?: string },
    owner: Json,
    item: unknown,
    position: number,
    singular: string,
  ): void {
    const [tenant, ownerId] = Object.values(owner)
    if (child.column !== undefined) {
      const key = child.key === 'value' ? item : position
      this.#put(child.table, [tenant, ownerId, key], { ...owner, position, [child.column]: item })
      return
    }
    const values = item as Json
    const key = child.key === 'id' ? [tenant, values.id] : [tenant, ownerId, position]
    this.#put(child.table, key, { ...owner, position, ...flat(values) })
    if (!/_services$/.test(child.table)) return
    for (const [name, table] of Object.entries(service))
      ((values[name] ?? []) as Json[]).forEach((part, place) => {
        const row = { ...owner, service_id: values.id, position: place, ...flat(part) }
        this.#put(`${singular}_${table}`, [tenant, part.id], row)
      })
  }
}
