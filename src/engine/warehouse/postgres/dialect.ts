/**
 * Postgres as a warehouse: tables in a schema, several connections, statements sent without waiting for each other.
 * Opened by openwarehouse.ts.
 */
import { type CompiledQuery, Kysely, PostgresDialect, type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import { Bug } from '../../base/errors.js'
import { joinedNames } from '../../base/format.js'
import { exact } from '../../base/int64.js'
import type { Table } from '../../model/table.js'
import { codeOf, rememberStatement } from '../classify.js'
import type { Database, Db } from '../database.js'
import type { Catalog, Dialect, DialectOptions, LiveColumn, LiveIndex, Obstacle } from '../dialect.js'
import { queueRights, seenQueue } from '../queue/queueplace.js'
import { metaQuery } from '../state/meta.js'
import type { Session } from '../transaction.js'
import { connecting, sendAlone, transactionLocally } from './connection.js'
import { connect, lastOf, settledPool } from './connectionpool.js'
import { classify, type Names, taken } from './drivererrors.js'
import { vacuum } from './erase.js'
import { dialectSql } from './expressions.js'
import { interferences, narrowEncoding } from './interference.js'
import { lookAtTable } from './lockholder.js'
import { readAtOneInstant } from './oneinstant.js'
import { type BinaryRows, encode, rowsOf } from './rows.js'
import { scan } from './scan.js'
import { PostgresSession, StatementCache } from './session.js'
import { askZone, checkZone, timestampOf } from './sessiontime.js'
import { analyze } from './statistics.js'
import { viewStore } from './views/viewstore.js'

/** An attribute number of 0 means an expression, which has no column. */
async function liveIndexes(db: Db, schema: string): Promise<LiveIndex[]> {
  const { rows } = await sql<LiveIndex>`
    select c.relname as "table", i.relname as name, x.indisprimary as "isPrimary",
      array(select a.attname::text
        from unnest(x.indkey::int2[]) with ordinality k (attnum, place)
        left join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
        where k.place <= x.indnkeyatts order by k.place) as columns
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
      join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema}`.execute(db)
  return rows
}

function keyStatement(schema: string, { name, key }: Table, live: LiveIndex | undefined): string {
  const table = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`
  const drop = live ? ` drop constraint ${pg.escapeIdentifier(live.name)},` : ''
  return `alter table ${table}${drop} add primary key (${key.map((column) => pg.escapeIdentifier(column)).join(', ')})`
}

const { DATE, INT8, NUMERIC, TIMESTAMPTZ } = pg.types.builtins
const parsers = new Map<number, (text: string) => unknown>([
  [INT8, (text) => exact(BigInt(text))],
  [NUMERIC, Number],
  [TIMESTAMPTZ, timestampOf],
  [DATE, (text) => text],
])
const typeParsers = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && parsers.get(id)) || pg.types.getTypeParser(id, format),
}

const quote = pg.escapeIdentifier

const connections = 4

/**
 * For a table without statistics, the planner expects a hundred owners to hold half of the rows, and reads the whole
 * table for one page: forty times the work of using the index.
 */
const beginning = `begin; set local enable_seqscan = off; ${transactionLocally}; ${askZone}`

/**
 * A server that crashed, or was replaced by one of its replicas, has started since. A database that was restored under
 * the same name has another id, and so has a table that was. Every role may read these, also through a pooler.
 */
const server = sql<string>`concat_ws(' ', extract(epoch from pg_postmaster_start_time()), (select oid from pg_database where datname = current_database()), tableoid)`

async function transact<T>(
  {
    pool,
    cache,
    where,
    pooler,
  }: {
    readonly pool: pg.Pool
    readonly cache: StatementCache
    readonly where: string
    readonly pooler: boolean
  },
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  const onError = (error: Error): void => {
    broken = error
  }
  client.on('error', onError)
  const session = new PostgresSession(client, cache)
  try {
    const begun = client.query(beginning)
    // The work's first statement is sent without waiting for `begun`; a failure of `begun` is thrown below.
    begun.catch(() => {})
    const result = await work(session)
    checkZone(lastOf(await begun), where)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(onError)
    if (session.failure && !broken) {
      const ask = (text: string, values: readonly string[]) => sendAlone(client, pooler, text, values)
      await lookAtTable(ask, session.failure)
    }
    // Statements sent after the one that failed only report that the transaction has failed.
    throw session.failure?.error ?? error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** Why there is no warehouse: most often, its schema has another name. */
async function absence(db: Db, schema: string, place: string): Promise<Obstacle> {
  const asked = sql<{
    name: string
    isOurs: boolean
    hasTables: boolean
  }>`select nspname as name, nspname = ${schema} as "isOurs",
      (select count(*) = 3 from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p')
        and c.relname in ('sync_meta', 'sync_cursors', 'tenants')) as "hasTables"
    from pg_namespace n order by nspname`
  const { rows } = await asked.execute(db)
  const found = rows.some(({ isOurs }) => isOurs)
    ? `the schema ${schema} of postgres://${place} has none of its tables`
    : `there is no schema ${schema}`
  const others = rows.flatMap(({ name, isOurs, hasTables }) => (hasTables && !isOurs ? name : []))
  const [other] = others
  if (other === undefined)
    return {
      problem: found.includes(place) ? found : `${found} in postgres://${place}`,
      hint: 'Type shopsync sync, which makes one there, or correct "warehouse" in the configuration',
    }
  return {
    problem: `${found}; this database has ${others.length === 1 ? 'a warehouse' : 'warehouses'} in ${joinedNames(others)}`,
    hint: `Write "schema": "${other}" beside warehouse.url; or, to make another one in ${schema}, type shopsync sync`,
  }
}

/** For how many seconds a change of a table waits for those who read it, before it lets others pass and tries again. */
const changeWaits = 3

/**
 * Migrations wait for each other at a row, which only those may lock who may write it. Before there is one, two of them
 * meet where both make the same, and the one that the database refuses tries again.
 */
async function prepare(db: Db, schema: string, session: Pick<Session, 'run'>): Promise<void> {
  const asked = sql<{
    schema: boolean
    rows: boolean
  }>`select to_regnamespace(${quote(schema)}) is not null as schema,
    to_regclass(${`${quote(schema)}.sync_meta`}) is not null as rows`
  const {
    rows: [found],
  } = await session.run(asked.compile(db))
  if (!found?.schema) await session.run(sql`create schema ${sql.id(schema)}`.compile(db))
  if (found?.rows) await session.run(metaQuery(db, 'schema_version').forUpdate().compile())
  await waitBriefly(db, session)
}

/** Every other reader of a table queues behind a change of it that waits for an idle one. */
async function waitBriefly(db: Db, session: Pick<Session, 'run'>, seconds = changeWaits): Promise<void> {
  await session.run(sql.raw(`set local lock_timeout = '${seconds}s'`).compile(db))
}

async function tryRoom(
  db: Db,
  schema: string,
  session: Pick<Session, 'run'>,
  { bytes, creates }: { readonly bytes: number; readonly creates: boolean },
): Promise<void> {
  const filling = sql`select repeat('x', 1000) as filling from generate_series(1, ${sql.lit(bytes / 1000)}::int)`
  const name = sql.id(schema, 'shopsync_check')
  if (creates) return void (await session.run(sql`create table ${name} as ${filling}`.compile(db)))
  const may = sql<{ may: boolean }>`select has_database_privilege(current_database(), 'temp') as may`
  const { rows } = await session.run(may.compile(db))
  if (rows[0]?.may) await session.run(sql`create temp table shopsync_check as ${filling}`.compile(db))
}

async function databaseTime(db: Db, session: Pick<Session, 'run'>): Promise<string> {
  const { rows } = await session.run(sql<{ now: string }>`select clock_timestamp() as now`.compile(db))
  if (!rows[0]) throw new Bug('The database returned no time')
  return rows[0].now
}

async function liveColumns(db: Db, schema: string): Promise<LiveColumn[]> {
  const { rows } = await sql<LiveColumn>`
    select c.relname as "table", a.attname as name,
      replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') as type
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where n.nspname = ${schema} and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`.execute(
    db,
  )
  return rows
}

function commentsOn(table: Table, schema: string): RawBuilder<unknown>[] {
  const name = sql.id(schema, table.name)
  return [
    sql`comment on table ${name} is ${sql.lit(`${table.doc} Grain: ${table.grain}.`)}`,
    ...table.columns.map(
      (column) => sql`comment on column ${name}.${sql.id(column.name)} is ${sql.lit(column.doc)}`,
    ),
  ]
}

/** One text for all: sent one by one, the comments would take longer than creating the tables. */
const comments = (db: Db, tables: readonly Table[], schema: string): CompiledQuery =>
  sql
    .join(
      tables.flatMap((table) => commentsOn(table, schema)),
      sql.raw(';\n'),
    )
    .compile(db)

async function isThere(db: Db, schema: string, table: string): Promise<boolean> {
  const name = sql`to_regclass(format('%I.%I', ${schema}::text, ${table}::text))`
  const { rows } = await sql<{ found: boolean }>`select ${name} is not null as found`.execute(db)
  return rows[0]?.found === true
}

/** The default schema of the views. */
const viewsOf = (schema: string): string => `${schema}_analytics`

const catalogOf = (
  db: Kysely<Database>,
  schema: string,
  { place, names }: { readonly place: string; readonly names: Names },
): Catalog<BinaryRows> => ({
  liveColumns: () => liveColumns(db, schema),
  liveIndexes: () => liveIndexes(db, schema),
  interferences: (tables) => interferences(db, names, tables),
  absence: () => absence(db, schema, place),
  narrowEncoding: () => narrowEncoding(db),
  prepare: (session) => prepare(db, schema, session),
  waitBriefly: (session, seconds) => waitBriefly(db, session, seconds),
  tryRoom: (session, how) => tryRoom(db, schema, session, how),
  comments: (tables) => [comments(db, tables, schema)],
  keyStatement: (table, live) => keyStatement(schema, table, live),
  setAside: (name) => db.schema.alterTable(name).renameTo(`${name}_before`).compile().sql,
})

/** `url`: `postgres://user:password@host:port/database`. `prepare` creates the schema if it is missing. */
export function postgresDialect(
  url: string,
  schema: string,
  { silentMs, pooler = false }: Pick<DialectOptions, 'silentMs' | 'pooler'> = {},
): Dialect<BinaryRows, ReadonlyMap<string, BinaryRows>> {
  const { config, place, tlsFrom } = connecting(url, pooler)
  const where = `postgres://${place} (schema ${schema})`
  const pool = connect({ ...config, max: connections, types: typeParsers }, silentMs)
  const settled = settledPool(pool, pooler)
  const db = new Kysely<Database>({
    dialect: new PostgresDialect({ pool: settled }),
    log: rememberStatement,
  }).withSchema(schema)
  const names = { schema, role: new pg.Client(config).user ?? '', tlsFrom }
  const cache = new StatementCache(db, schema)
  const shared = { pool, cache, where, pooler }
  const dialect: Dialect<BinaryRows, ReadonlyMap<string, BinaryRows>> = {
    db,
    where,
    locksRows: true,
    server,
    sql: dialectSql(schema),
    bulk: {
      backlog: 5,
      heapGrowth: 200,
      encode,
      rows: rowsOf,
      isTaken: (error) => codeOf(error) === taken,
      scan: (held, table, rowsAtOnce) => scan(held, schema, table, rowsAtOnce),
      optimize: (tables) => analyze(cache, tables),
    },
    catalog: catalogOf(db, schema, { place, names }),
    file: { isGone: () => false, atPath: () => '', refuseShards: () => {}, room: async () => undefined },
    deliveries: {
      seen: () => seenQueue(db, schema),
      obstacle: async () => (await queueRights(db, names)).obstacle,
      open: async (options) => {
        const { openDeliveries } = await import('../queue/deliveryqueue.js')
        const own = settledPool(connect({ ...config, max: 3 }, silentMs), pooler)
        return openDeliveries(own, db, names, options)
      },
    },
    transaction: (work) => transact(shared, work),
    atOneInstant: (work) => readAtOneInstant({ db, schema, views: viewsOf(schema), where }, work),
    views: (name = viewsOf(schema)) => viewStore(db, schema, name),
    now: (session) => databaseTime(db, session),
    classify: (error) => classify(error, where, names),
    beside: async ({ table, creates }) => {
      if (!creates && !(await isThere(db, schema, table))) return undefined
      // The connections belong to the warehouse, which closes them.
      return { ...dialect, close: async () => {} }
    },
    erase: async (tables, work, columns) => {
      await work()
      try {
        return await vacuum(db, schema, tables, columns)
      } catch (error) {
        throw classify(error, where, names)
      }
    },
    close: () => settled.end(),
  }
  return dialect
}
