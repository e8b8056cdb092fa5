import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { Int64, Kind } from '../../schema/resource.js'
import type { Tuple, Value } from '../derive/batch.js'
import type { Column, Table } from '../derive/tables.js'
import { Bug, Retry, Skip, Stop } from '../errors.js'
import { binaryArray } from './binary.js'
import { slots, tupleIndex, upsertSql } from './bulk.js'
import {
  type Database,
  type Dialect,
  exact,
  type LiveColumn,
  type Session,
  type Shared,
  type Version,
} from './dialect.js'

const types: Record<Kind, string> = {
  id: 'bigint',
  integer: 'bigint',
  cents: 'bigint',
  number: 'numeric',
  boolean: 'boolean',
  text: 'text',
  timestamp: 'timestamptz',
  json: 'jsonb',
}

/** `2026-01-02 03:04:05.123456+00`, as Postgres prints it in UTC, in canonical form; never through a Date. */
const canonicalTimestamp = (text: string): string => {
  const fraction = text.slice(20, text.length - 3)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(6, '0')}Z`
}

const oid = { bool: 16, int8: 20, int4: 23, numeric: 1700, timestamptz: 1184 } as const
const parsers = new Map<number, (text: string) => unknown>([
  [oid.int8, (text) => exact(BigInt(text))],
  [oid.numeric, Number],
  [oid.timestamptz, canonicalTimestamp],
])
const typeParsers = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && parsers.get(id)) || pg.types.getTypeParser(id, format),
}

/** The upsert of one table, compiled once: one array a column, unnested by the server. */
class Upsert {
  readonly text: string
  readonly #columns: { column: Column; place: number }[]

  constructor(db: Kysely<Database>, table: Table, schema: string, differing: boolean) {
    const places = slots(table)
    this.#columns = table.columns.flatMap((column, i) => {
      const place = places[i]
      return typeof place === 'number' ? [{ column, place }] : []
    })
    const picked = places.map((place) => {
      if (place === 'tenant_id') return '$1::bigint'
      if (place === '_synced_at') return '$2::timestamptz'
      if (place === '_deleted_at') return 'null::timestamptz'
      return `u.c${place}`
    })
    const arrays = this.#columns.map(({ column }, i) => `$${i + 3}::${types[column.kind]}[]`)
    const names = this.#columns.map(({ place }) => `c${place}`)
    const source = sql.raw(
      `select ${picked.join(', ')} from unnest(${arrays.join(', ')}) as u(${names.join(', ')})`,
    )
    this.text = upsertSql(db, table, source, differing, (name) => sql.id(schema, name))
  }

  parameters(tuples: readonly Tuple[], shared: Shared): unknown[] {
    const arrays = this.#columns.map(({ column, place }) => binaryArray(tuples, place, column.kind))
    return [String(shared.tenantId), shared.syncedAt, ...arrays]
  }
}

const before = (a: Value | undefined, b: Value | undefined): number =>
  a === b || a === undefined || b === undefined || a === null || b === null ? 0 : a < b ? -1 : 1

const idList = (ids: readonly Value[]): string => `{${ids.join(',')}}`

class PostgresSession implements Session {
  readonly #client: pg.PoolClient
  readonly #upserts: (table: Table, differing: boolean) => Upsert
  readonly #schema: string

  constructor(client: pg.PoolClient, upserts: (table: Table, differing: boolean) => Upsert, schema: string) {
    this.#client = client
    this.#upserts = upserts
    this.#schema = schema
  }

  async run<R>(query: CompiledQuery<R>): Promise<{ rows: R[]; affected: number }> {
    const parameters = query.parameters.map((value) => (typeof value === 'bigint' ? String(value) : value))
    const result = await this.#client.query(query.sql, parameters)
    return { rows: result.rows as R[], affected: result.rowCount ?? 0 }
  }

  async versions(table: Table, tenantId: Int64, ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    const result = await this.#client.query<[Int64, string, string, string | null]>({
      name: `versions ${table.name}`,
      rowMode: 'array',
      text: `select id, updated_at, _synced_at, _deleted_at from ${this.#name(table)} where tenant_id = $1 and id = any($2::bigint[]) order by id for update`,
      values: [String(tenantId), idList(ids)],
    })
    return new Map(
      result.rows.map(([id, updatedAt, syncedAt, deletedAt]) => [id, { updatedAt, syncedAt, deletedAt }]),
    )
  }

  async upsert(table: Table, tuples: readonly Tuple[], shared: Shared, differing: boolean): Promise<number> {
    const upsert = this.#upserts(table, differing)
    // Root rows in the order of their keys: two transactions that meet in one table must not wait for each other.
    const place = tupleIndex(table, table.key[1] ?? '')
    const ordered = table.role === 'root' ? tuples.toSorted((a, b) => before(a[place], b[place])) : tuples
    const result = await this.#client.query({
      name: `${differing ? 'update' : 'upsert'} ${table.name}`,
      text: upsert.text,
      values: upsert.parameters(ordered, shared),
    })
    return result.rowCount ?? 0
  }

  async confirm(table: Table, ids: readonly Int64[], { tenantId, syncedAt }: Shared): Promise<void> {
    await this.#client.query({
      name: `confirm ${table.name}`,
      text: `update ${this.#name(table)} set _synced_at = $1 where tenant_id = $2 and id = any($3::bigint[]) and _synced_at < $1`,
      values: [syncedAt, String(tenantId), idList(ids)],
    })
  }

  async prune(
    table: Table,
    tenantId: Int64,
    owners: readonly Int64[],
    tuples: readonly Tuple[],
  ): Promise<number> {
    if (!table.owner) throw new Bug(`${table.name} has no owner`)
    const rest = table.key.slice(1)
    const same = rest.map((name, i) => `k.k${i} = t.${pg.escapeIdentifier(name)}`).join(' and ')
    const kinds = rest.map((name) => table.columns.find((c) => c.name === name)?.kind ?? 'text')
    const arrays = kinds.map((kind, i) => `$${i + 3}::${types[kind]}[]`).join(', ')
    const result = await this.#client.query({
      name: `prune ${table.name}`,
      text: `delete from ${this.#name(table)} t where tenant_id = $1 and ${pg.escapeIdentifier(table.owner)} = any($2::bigint[]) and not exists (select 1 from unnest(${arrays}) as k(${rest.map((_, i) => `k${i}`).join(', ')}) where ${same})`,
      values: [
        String(tenantId),
        idList(owners),
        ...rest.map((name, i) => binaryArray(tuples, tupleIndex(table, name), kinds[i] ?? 'text')),
      ],
    })
    return result.rowCount ?? 0
  }

  #name(table: Table): string {
    return `${pg.escapeIdentifier(this.#schema)}.${pg.escapeIdentifier(table.name)}`
  }
}

const lost = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
])
const transient = /^(08|40001|40P01|55P03|57P0|53300|25P03)/
const refused: Record<string, string> = {
  '28': 'Check user and password in warehouse.url',
  '3D': 'Create the database, or name another in warehouse.url',
  '42501': 'Grant this user CREATE on the database or the schema, and read and write on its tables',
  '25006': 'Expected a database that can be written, not a standby: check warehouse.url',
}

function classify(error: unknown, where: string): Error {
  if (error instanceof Retry || error instanceof Skip || error instanceof Stop || error instanceof Bug)
    return error
  if (!(error instanceof Error)) return new Bug(String(error))
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const gone = /terminated|Connection ended|timeout exceeded when trying to connect|not queryable/.test(
    error.message,
  )
  if (lost.has(code) || transient.test(code) || gone)
    return new Retry(`The warehouse ${where} does not answer (${code || error.message})`, { cause: error })
  const family = Object.keys(refused).find((prefix) => code.startsWith(prefix))
  if (family)
    return new Stop(`The warehouse ${where} refuses: ${error.message} (${code})`, {
      exitCode: 3,
      hint: refused[family] ?? '',
      cause: error,
    })
  if (code.startsWith('53'))
    return new Stop(`The warehouse ${where} is out of room: ${error.message} (${code})`, {
      exitCode: 1,
      hint: 'Free some space and run the same command again: what is committed is complete',
      cause: error,
    })
  return error
}

function connect(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: 10_000,
    // Statements that do not wait for each other's results are sent together.
    pipeline: true,
    types: typeParsers,
    application_name: 'shopsync',
    // A process that is stopped in the middle of a transaction must not hold the lease's row for ever.
    idle_in_transaction_session_timeout: 30_000,
    lock_timeout: 30_000,
    options: '-c TimeZone=UTC -c DateStyle=ISO',
  })
  // The pool drops such a connection by itself; without a listener the process would end.
  pool.on('error', () => {})
  // Nor does the pool listen while it has lent a connection: one that is ended between two queries would end us too.
  pool.on('connect', (client) => void client.on('error', () => {}))
  return pool
}

const describe = (url: string, schema: string): string => {
  try {
    const { host, pathname } = new URL(url)
    return `postgres://${host}${pathname} (schema ${schema})`
  } catch {
    return `postgres (schema ${schema})`
  }
}

/** `url`: `postgres://user:password@host:port/database`. The schema is created if missing. */
export function postgresDialect(url: string, schema: string): Dialect {
  const where = describe(url, schema)
  const pool = connect(url)
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema)
  const upserts = new Map<string, Upsert>()
  const upsertOf = (table: Table, differing: boolean): Upsert => {
    const name = `${table.name} ${differing}`
    const known = upserts.get(name)
    if (known) return known
    const made = new Upsert(db, table, schema, differing)
    upserts.set(name, made)
    return made
  }

  const transaction = async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
    const client = await pool.connect()
    let broken: Error | undefined
    const onError = (error: Error): void => {
      broken = error
    }
    client.on('error', onError)
    try {
      const begun = client.query('begin')
      // Sent ahead of the work's first statement; a failure is met below, and the work's statements fail with it.
      begun.catch(() => {})
      const result = await work(new PostgresSession(client, upsertOf, schema))
      await begun
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch(onError)
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  return {
    db,
    where,
    writers: 2,
    columnType: (kind) => types[kind],
    transaction,
    prepare: async (session) => {
      await session.run(sql`select pg_advisory_xact_lock(hashtext(${`shopsync ${schema}`}))`.compile(db))
      const exists = await session.run(sql`select 1 from pg_namespace where nspname = ${schema}`.compile(db))
      if (exists.rows.length === 0) await session.run(sql`create schema ${sql.id(schema)}`.compile(db))
    },
    liveTables: () => liveTables(db, schema),
    liveIndexes: async () => {
      const found = await sql<{
        indexname: string
      }>`select indexname from pg_indexes where schemaname = ${schema}`.execute(db)
      return new Set(found.rows.map((row) => row.indexname))
    },
    comments: (table) => comments(db, table, schema),
    fence: () => db.selectFrom('sync_lease').select('token').where('name', '=', 'run').forShare().compile(),
    now: async (session) => {
      const { rows } = await session.run(sql<{ now: string }>`select clock_timestamp() as now`.compile(db))
      const now = rows[0]?.now
      if (now === undefined) throw new Bug('The database did not say what time it is')
      return now
    },
    classify: (error) => classify(error, where),
    optimize: async (tables) => {
      const names = tables.map((table) => sql.id(schema, table.name))
      if (names.length > 0) await sql`analyze ${sql.join(names)}`.execute(db)
    },
    close: () => db.destroy(),
  }
}

async function liveTables(db: Kysely<Database>, schema: string): Promise<Map<string, LiveColumn[]>> {
  const found = await sql<{ table_name: string; column_name: string; data_type: string }>`
    select c.relname as table_name, a.attname as column_name, format_type(a.atttypid, a.atttypmod) as data_type
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where n.nspname = ${schema} and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`.execute(
    db,
  )
  const tables = new Map<string, LiveColumn[]>()
  for (const row of found.rows) {
    const columns = tables.get(row.table_name) ?? []
    columns.push({
      name: row.column_name,
      type: row.data_type.replace('timestamp with time zone', 'timestamptz'),
    })
    tables.set(row.table_name, columns)
  }
  return tables
}

function comments(db: Kysely<Database>, table: Table, schema: string): CompiledQuery[] {
  const name = sql.id(schema, table.name)
  return [
    sql`comment on table ${name} is ${sql.lit(`${table.doc} Grain: ${table.grain}.`)}`.compile(db),
    ...table.columns.map((column) =>
      sql`comment on column ${name}.${sql.id(column.name)} is ${sql.lit(column.doc)}`.compile(db),
    ),
  ]
}
