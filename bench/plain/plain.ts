/**
 * What one writes on a first afternoon: page after page, each flattened to objects, table by table into Kysely's
 * insertInto().values().onConflict(). No guard, no children replaced, no progress, one request at a time.
 */
import BetterSqlite3 from 'better-sqlite3'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import pg from 'pg'
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

const lists = ['labors', 'parts', 'hazmats', 'sublets', 'inspections']

function rowsOf(tenant: number, orders: Json[], syncedAt: string, numbers: boolean): Map<string, Json[]> {
  const rows = new Map<string, Json[]>()
  const add = (table: string, row: Json): void => {
    const list = rows.get(table) ?? []
    rows.set(table, list)
    list.push(plain({ tenant_id: tenant, _synced_at: syncedAt, ...row }, numbers))
  }
  const items = (owner: Json, name: string): [number, Json][] => [
    ...((owner[name] ?? []) as Json[]).entries(),
  ]
  for (const order of orders) {
    const { label, ...own } = columns(order)
    add('repair_orders', own)
    for (const [position, service] of items(order, 'services')) {
      add('repair_order_services', { repair_order_id: order.id, position, ...columns(service) })
      for (const name of lists)
        for (const [at, item] of items(service, name)) {
          const keys = { repair_order_id: order.id, service_id: service.id, position: at }
          add(`repair_order_${name}`, { ...keys, ...columns(item) })
        }
    }
    for (const [position, payment] of items(order, 'payments'))
      add('repair_order_payments', { repair_order_id: order.id, position, ...columns(payment) })
    for (const [, tag] of items(order, 'integrator_tags')) add('integrator_tags', columns(tag))
  }
  return rows
}

const keyOf = (table: string): string[] =>
  table === 'repair_order_payments' ? ['tenant_id', 'repair_order_id', 'position'] : ['tenant_id', 'id']

async function store(db: Kysely<Database>, table: string, rows: Json[]): Promise<void> {
  const key = keyOf(table)
  const rest = Object.keys(rows[0] ?? {}).filter((name) => !key.includes(name))
  for (let i = 0; i < rows.length; i += chunk)
    await db
      .insertInto(table)
      .values(rows.slice(i, i + chunk))
      .onConflict((c) =>
        c
          .columns(key)
          .doUpdateSet((eb) => Object.fromEntries(rest.map((name) => [name, eb.ref(`excluded.${name}`)]))),
      )
      .execute()
}

interface Body {
  readonly results: Json[]
  readonly total_pages: number
}

export async function load({ source, tenants, url, schema, updatedAfter }: Load): Promise<number> {
  const db = connect(url, schema)
  let count = 0
  for (let tenant = 1; tenant <= tenants; tenant++)
    for (let [page, last] = [1, 1]; page <= last; page++) {
      const query = `updated_after=${updatedAfter}&per_page=100&page=${page}`
      const response = await fetch(`${source}/api/v1/tenants/${tenant}/repair_orders?${query}`)
      const { results, total_pages } = (await response.json()) as Body
      last = total_pages
      const rows = rowsOf(tenant, results, new Date().toISOString(), url.startsWith('sqlite:'))
      await db.transaction().execute(async (transaction) => {
        for (const [table, list] of rows) await store(transaction, table, list)
      })
      for (const list of rows.values()) count += list.length
    }
  await db.destroy()
  return count
}
