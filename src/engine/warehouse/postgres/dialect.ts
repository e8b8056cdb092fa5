/**
 * Postgres as a warehouse: tables in a schema, several connections, statements sent without waiting for each other.
 * Opened by openwarehouse.ts.
 */
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { Bug } from '../../base/errors.js'
import { exact } from '../../base/int64.js'
import { codeOf, rememberStatement } from '../classify.js'
import type { Database, Db } from '../database.js'
import type { Dialect, DialectOptions } from '../dialect.js'
import { queueRights, seenQueue } from '../queue/queueplace.js'
import type { Session } from '../transaction.js'
import { PostgresCatalog } from './catalog.js'
import { connecting, sendAlone, transactionLocally } from './connection.js'
import { connect, lastOf, settledPool } from './connectionpool.js'
import { classify, taken } from './drivererrors.js'
import { vacuum } from './erase.js'
import { dialectSql } from './expressions.js'
import { lookAtTable } from './lockholder.js'
import { readAtOneInstant } from './oneinstant.js'
import { type BinaryRows, encode, rowsOf } from './rows.js'
import { scan } from './scan.js'
import { PostgresSession, StatementCache } from './session.js'
import { askZone, checkZone, timestampOf } from './sessiontime.js'
import { analyze } from './statistics.js'
import { viewStore } from './views/viewstore.js'

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

async function databaseTime(db: Db, session: Pick<Session, 'run'>): Promise<string> {
  const { rows } = await session.run(sql<{ now: string }>`select clock_timestamp() as now`.compile(db))
  if (!rows[0]) throw new Bug('The database returned no time')
  return rows[0].now
}

async function isThere(db: Db, schema: string, table: string): Promise<boolean> {
  const name = sql`to_regclass(format('%I.%I', ${schema}::text, ${table}::text))`
  const { rows } = await sql<{ found: boolean }>`select ${name} is not null as found`.execute(db)
  return rows[0]?.found === true
}

/** The default schema of the views. */
const viewsOf = (schema: string): string => `${schema}_analytics`

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
    catalog: new PostgresCatalog(db, names, place),
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
