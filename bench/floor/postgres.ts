/**
 * The floor of Postgres: two connections, on each one page after the other as one transaction whose statements are all
 * sent at once; rows as binary arrays that the server unnests. (COPY BINARY into temporary tables and a merge costs the
 * server a quarter more, arrays as text a fifth.)
 */
import pg from 'pg'
import { array } from './arrays.js'
import { type Columns, quoted, upsertTail } from './columns.js'
import { pages } from './fetch.js'
import { flatten, type Row } from './flatten.js'
import type { Load } from './load.js'

const connections = 2
const types = {
  id: 'bigint',
  integer: 'bigint',
  cents: 'bigint',
  number: 'numeric',
  boolean: 'boolean',
  text: 'text',
  timestamp: 'timestamptz',
  json: 'jsonb',
} as const
const shared = new Map([
  ['tenant_id', '$1::bigint'],
  ['_synced_at', '$2::timestamptz'],
  ['_deleted_at', 'null::timestamptz'],
])

function statement(table: Columns[number]): string {
  const own = table.columns.filter(({ name }) => !shared.has(name))
  const picked = table.columns.map(({ name }) => shared.get(name) ?? quoted(name))
  const arrays = own.map(({ kind }, i) => `$${i + 3}::${types[kind]}[]`)
  const names = own.map(({ name }) => quoted(name))
  return `insert into ${quoted(table.name)} (${table.columns.map(({ name }) => quoted(name)).join(',')}) select ${picked.join(',')} from unnest(${arrays.join(',')}) as u(${names.join(',')}) ${upsertTail(table)}`
}

class Connection {
  readonly #client: pg.Client
  readonly #columns: Columns
  readonly #texts: string[]
  #busy: Promise<unknown> = Promise.resolve()

  constructor(url: string, schema: string, columns: Columns) {
    const options = `-c TimeZone=UTC -c search_path=${schema}`
    this.#client = new pg.Client({ connectionString: url, options, pipeline: true })
    this.#columns = columns
    this.#texts = columns.map(statement)
  }

  get free(): Promise<unknown> {
    return this.#busy
  }

  connect(): Promise<unknown> {
    return this.#client.connect()
  }

  write(tenant: number, tables: readonly Row[][]): void {
    const syncedAt = new Date().toISOString()
    const under: Promise<unknown>[] = [this.#client.query('begin')]
    for (const [i, table] of this.#columns.entries()) {
      const own = table.columns.filter(({ name }) => !shared.has(name))
      const arrays = own.map(({ kind }, place) => array(tables[i] ?? [], place, kind))
      const text = this.#texts[i] ?? ''
      under.push(
        this.#client.query({ name: table.name, text, values: [String(tenant), syncedAt, ...arrays] }),
      )
    }
    under.push(this.#client.query('commit'))
    this.#busy = Promise.all(under)
  }

  async end(): Promise<void> {
    await this.#busy
    await this.#client.end()
  }
}

export async function load({ source, tenants, url, schema, columns, updatedAfter }: Load): Promise<number> {
  const all = Array.from({ length: connections }, () => new Connection(url, schema, columns))
  await Promise.all(all.map((connection) => connection.connect()))
  let [rows, turn] = [0, 0]
  for await (const { tenant, body } of pages(source, tenants, updatedAfter)) {
    const { tables } = flatten(body)
    rows += tables.reduce((sum, table) => sum + table.length, 0)
    const connection = all[turn++ % connections]
    await connection?.free
    connection?.write(tenant, tables)
  }
  await Promise.all(all.map((connection) => connection.end()))
  return rows
}
