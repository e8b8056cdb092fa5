import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { Bug, Retry, Skip, Stop } from '../../errors.js'
import type { Table } from '../../model/tables.js'
import { type Database, type Dialect, exact, type LiveColumn, type Session } from '../dialect.js'
import { binaryRows, encodeEarly, forget } from './rows.js'
import { PostgresSession, StatementCache, types } from './session.js'

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
  // 53100: no space left. A limit on the size of files or a quota has no code of its own.
  if (code.startsWith('53') || /could not (extend|write)/.test(error.message))
    return new Stop(`The warehouse ${where} is out of room: ${error.message} (${code})`, {
      exitCode: 1,
      hint: 'Free some space and run the same command again: what is committed is complete',
      cause: error,
    })
  return error
}

const connections = 4

function connect(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
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
  const shelf = new StatementCache(db, schema)

  const transaction = async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
    const client = await pool.connect()
    let broken: Error | undefined
    const onError = (error: Error): void => {
      broken = error
    }
    client.on('error', onError)
    const session = new PostgresSession(client, shelf)
    try {
      const begun = client.query(begin)
      // Sent ahead of the work's first statement; a failure is met below, and the work's statements fail with it.
      begun.catch(() => {})
      const result = await work(session)
      await begun
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch(onError)
      // The statements behind the one that failed were sent already, and only say that the transaction has failed.
      throw session.failure?.error ?? error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  return {
    db,
    where,
    backlog: 5,
    heapGrowth: 200,
    columnType: (kind) => types[kind],
    transaction,
    // A connection takes as long to open as a page to store. One that fails now is met when it is needed.
    warm: () => {
      if (pool.totalCount >= connections) return
      const opened = Array.from({ length: connections }, () => pool.connect())
      for (const opening of opened)
        opening.then(
          (client) => client.release(),
          () => {},
        )
    },
    foresee: encodeEarly,
    applied: forget,
    rows: binaryRows,
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
    optimize: (tables) => analyze(shelf, tables),
    close: () => db.destroy(),
  }
}

/**
 * Of a table that no statistics were made of yet, the planner believes that a hundred owners hold half of it, and reads
 * it all to look at one page: forty times what the index takes.
 */
const begin = 'begin; set local enable_seqscan = off'

/** A table is worth new statistics when so much of it has been written since the last ones. */
const staleShare = 0.1
/** Buckets of a histogram: a tenth of the default, in a tenth of the time. */
const sampled = 10

/**
 * What rows are found and joined by. The others take most of the time, and an `analyze` that names columns leaves the
 * server's count of changes as it is: its autovacuum, which looks once a minute, makes full statistics of them all.
 */
const statisticsOf = (table: Table): string[] => {
  const sought = new Set([...table.key, table.owner, 'updated_at', '_deleted_at'])
  return table.columns.map(({ name }) => name).filter((name) => sought.has(name))
}

/** Only what has changed much: to look at all tables takes half a second, which an idle run need not. */
async function analyze({ db, schema, written }: StatementCache, tables: readonly Table[]): Promise<void> {
  const sizes = await sql<{ name: string; rows: number }>`
    select c.relname as name, c.reltuples::float8 as rows from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p')`.execute(db)
  const rows = new Map(sizes.rows.map((row) => [row.name, row.rows]))
  const stale = tables.filter((table) => {
    const known = rows.get(table.name) ?? 0
    return (written.get(table.name) ?? 0) > Math.max(0, known) * staleShare
  })
  const waiting = stale.toSorted((a, b) => (written.get(b.name) ?? 0) - (written.get(a.name) ?? 0)).values()
  // Two lanes, the largest first: nothing else is left to do meanwhile.
  const lane = async (): Promise<void> => {
    for (const table of waiting)
      await db.transaction().execute(async (transaction) => {
        await sql`set local default_statistics_target = ${sql.lit(sampled)}`.execute(transaction)
        const columns = statisticsOf(table).map((name) => sql.id(name))
        await sql`analyze ${sql.id(schema, table.name)} (${sql.join(columns)})`.execute(transaction)
      })
  }
  await Promise.all([lane(), lane()])
  for (const table of stale) written.delete(table.name)
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
