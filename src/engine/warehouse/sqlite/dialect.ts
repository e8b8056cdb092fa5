/**
 * SQLite as a warehouse: one file, one writer at a time. openwarehouse.ts opens it for commands, thread/writerthread.ts
 * for the writer thread.
 */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Kysely, type KyselyPlugin, SqliteDialect, sql } from 'kysely'
import { fromMicros } from '../../base/timestamp.js'
import { rememberStatement } from '../classify.js'
import type { Database } from '../database.js'
import type { Dialect, DialectOptions } from '../dialect.js'
import { sqliteCatalog } from './catalog.js'
import { classify } from './drivererrors.js'
import { deletingSecurely, withoutTraces } from './erase.js'
import { dialectSql } from './expressions.js'
import {
  type FileOptions,
  noDeliveries,
  type Opened,
  openFile,
  provideTemporaryFolder,
  refuseShards,
  transact,
} from './file.js'
import { encode, rowsOf, type SqlitePage, type TupleRows } from './rows.js'
import { scan } from './scan.js'
import { narrowIntegers, SqliteSession } from './session.js'
import { WriterThread } from './thread/writerclient.js'
import { viewStore } from './views/viewstore.js'
import { WriteLock } from './writelock.js'

const exactIntegers: KyselyPlugin = {
  transformQuery: (args) => args.node,
  transformResult: async ({ result }) => {
    narrowIntegers(result.rows)
    return result
  },
}

async function roomBeside(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize
}

async function closeAll({ raw, named }: Opened, db: Kysely<Database>, writer: WriterThread) {
  try {
    await writer.close()
  } finally {
    await db.destroy()
    // Kysely doesn't close what it never used, and SQLite's own files would stay beside the warehouse.
    raw.close()
    named?.close()
  }
}

interface SqliteOptions extends FileOptions, Pick<DialectOptions, 'threadFrom' | 'sharedBy'> {}

/** A file that was never filled, because the disk was full or the process died, counts as missing. */
async function fileBeside(
  path: string,
  { like, table, creates }: { readonly like: string; readonly table: string; readonly creates: boolean },
): Promise<Dialect | undefined> {
  if (!creates && !existsSync(path)) return undefined
  const dialect = sqliteDialect(`sqlite:${path}`, { isDurable: true, like, existing: !creates })
  let isFilled: boolean
  try {
    isFilled = creates || (await dialect.catalog.liveColumns()).some((column) => column.table === table)
  } catch (error) {
    await dialect.close()
    throw dialect.classify(error)
  }
  if (isFilled) return dialect
  await dialect.close()
  return undefined
}

/** `url`: `sqlite:PATH`. The file is created if missing, unless `existing`. See DialectOptions. */
export function sqliteDialect(url: string, options: SqliteOptions = {}): Dialect<TupleRows, SqlitePage> {
  const path = resolve(url.slice('sqlite:'.length))
  const where = `sqlite:${path}`
  const { threadFrom = 300, sharedBy } = options
  if (sharedBy !== undefined) refuseShards(where, sharedBy)
  provideTemporaryFolder(url)
  const opened = openFile(path, where, options)
  const { raw, named } = opened
  const db = new Kysely<Database>({
    dialect: new SqliteDialect({ database: raw }),
    log: rememberStatement,
    plugins: [exactIntegers],
  })
  const session = new SqliteSession(raw, db)
  const lock = new WriteLock()
  const writer = new WriterThread({ url, file: named?.opened })
  return {
    db,
    where,
    locksRows: false,
    // Every commit checks the file.
    server: sql<string>`''`,
    sql: dialectSql,
    bulk: {
      backlog: 2,
      heapGrowth: 110,
      encode: (rows) => encode(rows, threadFrom),
      rows: rowsOf,
      offload: (to, batch) =>
        batch.page.rows.isOffloaded ? lock.shared(() => writer.apply(to, batch)) : undefined,
      isTaken: () => false,
      scan: (_, table, rowsAtOnce) => scan(raw, table, rowsAtOnce),
      optimize: () => lock.own(async () => void raw.pragma('optimize')),
    },
    catalog: sqliteCatalog(opened, path, where),
    file: {
      isGone: () => named?.isGone() ?? false,
      atPath: () => (named ? named.atPath() : ''),
      refuseShards: () => refuseShards(where),
      room: async () => (named ? roomBeside(path) : undefined),
    },
    deliveries: noDeliveries,
    // Kysely lends its one connection to one holder at a time, so no other statement can slip into the transaction.
    transaction: (work) =>
      lock.own(() => db.connection().execute(() => transact(opened, () => work(session)))),
    // Deferred, as Kysely begins it: the instant is that of the first query, and no writer waits.
    atOneInstant: (work) =>
      db.transaction().execute((held) => work({ db: held, views: () => viewStore(held, where) })),
    views: () => viewStore(db, where),
    now: async (_, clock) => fromMicros(clock.nowMicros()),
    classify: (error) => classify(error, where),
    // In the same file, an insert would wait for as long as a run stores pages without a pause.
    beside: async ({ name, ...how }) =>
      named ? fileBeside(`${path}.${name}`, { like: path, ...how }) : undefined,
    erase: async (_, work) => {
      await deletingSecurely(raw, work)
      return lock.own(async () => withoutTraces(raw))
    },
    close: () => closeAll(opened, db, writer),
  }
}
