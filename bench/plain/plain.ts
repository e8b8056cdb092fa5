/**
 * What one writes on a first afternoon: page after page, each flattened to objects, table by table into Kysely's
 * insertInto().values().onConflict(). No guard, no children replaced, no progress, one request at a time; unknown fields
 * are left out, and JSON.parse rounds integers beyond 2^53.
 */
import BetterSqlite3 from 'better-sqlite3'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import pg from 'pg'
import type { Columns } from '../floor/columns.js'
import type { Load } from '../floor/load.js'

type Json = Record<string, unknown>
type Database = Record<string, Json>
/** Rows a statement: every warehouse allows the parameters of so many. */
const chunk = 100

const connect = (url: string, schema: string): Kysely<Database> =>
  url.startsWith('sqlite:')
    ? new Kysely({ dialect: new SqliteDialect({ database: new BetterSqlite3(url.slice('sqlite:'.length)) }) })
    : new Kysely({
        dialect: new PostgresDialect({
          pool: new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` }),
        }),
      })

/** An object's own values; what is nested becomes columns with a prefix, arrays are tables of their own. */
function columns(record: Json, prefix = ''): Json {
  const row: Json = {}
  for (const [name, value] of Object.entries(record)) {
    if (Array.isArray(value)) continue
    if (typeof value === 'object' && value !== null)
      Object.assign(row, columns(value as Json, `${prefix}${name}_`))
    else if (typeof value === 'string' && name.endsWith('_at'))
      row[prefix + name] = value.replace('Z', '000Z')
    else row[prefix + name] = value
  }
  return row
}

/** SQLite takes no booleans. */
const plain = (row: Json, numbers: boolean): Json =>
  numbers
    ? Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          typeof value === 'boolean' ? Number(value) : value,
        ]),
      )
    : row

/** The tables of the arrays inside records, by the array that the record stands in. */
const arrays: Record<string, Record<string, string>> = {
  repair_orders: { services: 'repair_order_services', payments: 'repair_order_payments' },
  services: Object.fromEntries(
    ['labors', 'parts', 'hazmats', 'sublets', 'inspections'].map((name) => [name, `repair_order_${name}`]),
  ),
  customers: { phones: 'customer_phones', shop_ids: 'customer_shops' },
  inventories: { tags: 'inventory_tags' },
}
const owners: Record<string, string> = {
  repair_orders: 'repair_order_id',
  services: 'service_id',
  customers: 'customer_id',
  inventories: 'inventory_id',
}

const objects = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])

/** The rows of one tenant's records, by table. */
class Rows {
  readonly byTable = new Map<string, Json[]>()
  readonly #shared: Json
  readonly #numbers: boolean

  constructor(tenant: number, numbers: boolean) {
    this.#shared = { tenant_id: tenant, _synced_at: new Date().toISOString().replace('Z', '000Z') }
    this.#numbers = numbers
  }

  record(resource: string, record: Json): void {
    this.#add(resource, columns(record))
    this.#children(resource, record, {})
    for (const tag of objects(record.integrator_tags)) this.#add('integrator_tags', columns(tag))
  }

  #children(kind: string, record: Json, above: Json): void {
    const keys = { ...above, ...(owners[kind] ? { [owners[kind]]: record.id } : {}) }
    for (const [name, table] of Object.entries(arrays[kind] ?? {}))
      for (const [position, item] of objects(record[name]).entries()) {
        const own = typeof item === 'object' ? columns(item) : { [name === 'tags' ? 'tag' : 'shop_id']: item }
        this.#add(table, { ...keys, position, ...own })
        if (typeof item === 'object') this.#children(name, item, keys)
      }
  }

  #add(table: string, row: Json): void {
    const list = this.byTable.get(table) ?? []
    this.byTable.set(table, list)
    list.push(plain({ ...this.#shared, ...row }, this.#numbers))
  }
}

async function store(db: Kysely<Database>, table: Columns[number], rows: Json[]): Promise<void> {
  const { key } = table
  // Fields that no column is for are left out.
  const names = table.columns.map(({ name }) => name).filter((name) => name in (rows[0] ?? {}))
  const rest = names.filter((name) => !key.includes(name))
  const kept = rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])))
  for (let i = 0; i < kept.length; i += chunk)
    await db
      .insertInto(table.name)
      .values(kept.slice(i, i + chunk))
      .onConflict((c) =>
        c
          .columns([...key])
          .doUpdateSet((eb) => Object.fromEntries(rest.map((name) => [name, eb.ref(`excluded.${name}`)]))),
      )
      .execute()
}

interface Body {
  readonly results: Json[]
  readonly total_pages: number
}

export async function load(given: Load): Promise<void> {
  const { source, tenants, resources, url, schema, updatedAfter } = given
  const db = connect(url, schema)
  for (const resource of resources)
    for (let tenant = 1; tenant <= tenants; tenant++)
      for (let [page, last] = [1, 1]; page <= last; page++) {
        const query = `updated_after=${updatedAfter}&per_page=100&page=${page}`
        const response = await fetch(`${source}/api/v1/tenants/${tenant}/${resource}?${query}`)
        const { results, total_pages } = (await response.json()) as Body
        last = total_pages
        const rows = new Rows(tenant, url.startsWith('sqlite:'))
        for (const record of results) rows.record(resource, record)
        await db.transaction().execute(async (transaction) => {
          for (const table of given.columns) {
            const list = rows.byTable.get(table.name)
            if (list) await store(transaction, table, list)
          }
        })
      }
  await db.destroy()
}
