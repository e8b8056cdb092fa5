/**
 * The floor of Postgres: two connections, on each one page after the other as one transaction whose statements are all
 * sent at once; rows as binary arrays that the server unnests. (COPY BINARY into temporary tables and a merge costs the
 * server a quarter more, arrays as text a fifth.)
 */
import pg from 'pg'
import type { Kind } from '../../schema/resource.js'
import type { ResourceName } from '../source/climate.js'
import { array } from './arrays.js'
import { type Columns, quoted, upsertTail } from './columns.js'
import { pages } from './fetch.js'
import { flatten, tablesOf } from './flatten.js'
import type { Load } from './load.js'
import { recordsOf } from './parse.js'
import type { Row } from './rows.js'

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
  day: 'date',
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

interface Prepared {
  readonly table: Columns[number]
  readonly kinds: readonly Kind[]
  readonly text: string
}

class Connection {
  readonly #client: pg.Client
  readonly #tables: ReadonlyMap<string, Prepared>
  #busy: Promise<unknown> = Promise.resolve()

  constructor(url: string, schema: string, columns: Columns) {
    const options = `-c TimeZone=UTC -c search_path=${schema}`
    this.#client = new pg.Client({ connectionString: url, options, pipeline: true })
    this.#tables = new Map(
      columns.map((table) => {
        const kinds = table.columns.filter(({ name }) => !shared.has(name)).map(({ kind }) => kind)
        return [table.name, { table, kinds, text: statement(table) }]
      }),
    )
  }

  get free(): Promise<unknown> {
    return this.#busy
  }

  connect(): Promise<unknown> {
    return this.#client.connect()
  }

  write(tenant: number, resource: ResourceName, tables: readonly Row[][]): void {
    const syncedAt = new Date().toISOString()
    const under: Promise<unknown>[] = [this.#client.query('begin')]
    for (const [i, name] of tablesOf[resource].entries()) {
      const rows = tables[i] ?? []
      const { kinds = [], text = '' } = this.#tables.get(name) ?? {}
      if (rows.length === 0) continue
      const arrays = kinds.map((kind, place) => array(rows, place, kind))
      under.push(this.#client.query({ name, text, values: [String(tenant), syncedAt, ...arrays] }))
    }
    under.push(this.#client.query('commit'))
    this.#busy = Promise.all(under)
  }

  async end(): Promise<void> {
    await this.#busy
    await this.#client.end()
  }
}

export async function load(given: Load): Promise<void> {
  const { url, schema, columns } = given
  const all = Array.from({ length: connections }, () => new Connection(url, schema, columns))
  await Promise.all(all.map((connection) => connection.connect()))
  let turn = 0
  for await (const { tenant, resource, body } of pages(given)) {
    const tables = flatten(tenant, resource, recordsOf(body))
    const connection = all[turn++ % connections]
    await connection?.free
    connection?.write(tenant, resource, tables)
  }
  await Promise.all(all.map((connection) => connection.end()))
}
