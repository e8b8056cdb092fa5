/**
 * SQLite as a warehouse: one file, one writer at a time.
 * open.ts opens it for commands, thread/main.ts for the writer thread.
 */
import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { Kysely, type KyselyPlugin, SqliteDialect } from 'kysely'
import { columnTypes } from '../../model/dictionary.js'
import { fromMicros } from '../../timestamp.js'
import type { Database } from '../database.js'
import type { Dialect, LiveColumn } from '../dialect.js'
import { encode, rowsOf, type SqlitePage } from './encode.js'
import { deletingSecurely, withoutTraces } from './erase.js'
import { classify, classifyOpening } from './errors.js'
import { extra } from './extra.js'
import type { TupleRows } from './rows.js'
import { narrowIntegers, SqliteSession } from './session.js'
import { WriterThread } from './thread/client.js'
import { WriteLock } from './writelock.js'

const cacheSize = 'cache_size = -8000'

const exactIntegers: KyselyPlugin = {
  transformQuery: (args) => args.node,
  transformResult: async ({ result }) => {
    narrowIntegers(result.rows)
    return result
  },
}

function open(path: string, where: string): BetterSqlite3.Database {
  try {
    mkdirSync(dirname(path), { recursive: true })
    const raw = new BetterSqlite3(path)
    raw.defaultSafeIntegers(true)
    raw.pragma('busy_timeout = 5000')
    raw.pragma('journal_mode = WAL')
    // A power cut may take the last commits, never part of one: rows and watermark go together, and are fetched again.
    raw.pragma('synchronous = NORMAL')
    raw.pragma(cacheSize)
    // Commits write the same index pages again and again: a checkpoint every 64 MB instead of every 4 saves a load 10 %.
    raw.pragma('wal_autocheckpoint = 16000')
    raw.pragma('journal_size_limit = 67108864')
    return raw
  } catch (error) {
    throw classifyOpening(error, where)
  }
}

async function transact<T>(raw: BetterSqlite3.Database, work: () => Promise<T>): Promise<T> {
  raw.exec('begin immediate')
  try {
    const result = await work()
    raw.exec('commit')
    return result
  } catch (error) {
    if (raw.inTransaction) raw.exec('rollback')
    throw error
  }
}

/** The cache is small here: a rollback throws away what never reached the disk, and a full disk would go unnoticed. */
async function tryRoom(raw: BetterSqlite3.Database, bytes: number): Promise<void> {
  raw.pragma('cache_size = 10')
  try {
    raw.exec('create table shopsync_check (filling)')
    raw.prepare('insert into shopsync_check values (zeroblob(?))').run(bytes)
  } finally {
    raw.pragma(cacheSize)
  }
}

/** `url`: `sqlite:PATH`; the file and its folder are created if missing. `threadFrom`: see OpenOptions. */
export function sqliteDialect(url: string, threadFrom = 300): Dialect<TupleRows, SqlitePage> {
  const path = resolve(url.slice('sqlite:'.length))
  const where = `sqlite:${path}`
  const raw = open(path, where)
  const db = new Kysely<Database>({
    dialect: new SqliteDialect({ database: raw }),
    plugins: [exactIntegers],
  })
  const session = new SqliteSession(raw, db)
  const lock = new WriteLock()
  const writer = new WriterThread(url)
  return {
    db,
    where,
    backlog: 2,
    heapGrowth: 110,
    locksRows: false,
    columnType: (kind) => columnTypes[kind].sqlite,
    extra,
    // Kysely lends its one connection to one holder at a time: no other statement can slip into the transaction.
    transaction: (work) => lock.own(() => db.connection().execute(() => transact(raw, () => work(session)))),
    warm: () => writer.warm(),
    encode: (rows) => encode(rows, threadFrom),
    rows: rowsOf,
    offload: (to, batch) => {
      return batch.page.rows.isOffloaded ? lock.shared(() => writer.apply(to, batch)) : undefined
    },
    prepare: async () => {},
    tryRoom: (_, { bytes }) => tryRoom(raw, bytes),
    liveColumns: async () =>
      raw
        .prepare<[], LiveColumn>(
          `select m.name as "table", c.name as name, c.type as type from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`,
        )
        .all(),
    liveIndexes: async () =>
      raw.prepare<[], string>("select name from sqlite_master where type = 'index'").pluck().all(),
    comments: () => [],
    now: async (_, clock) => fromMicros(clock.nowMicros()),
    classify: (error) => classify(error, where),
    optimize: () => lock.own(async () => void raw.pragma('optimize')),
    erase: async (_, work) => {
      await deletingSecurely(raw, work)
      return lock.own(async () => withoutTraces(raw))
    },
    close: async () => {
      await writer.close()
      await db.destroy()
    },
  }
}
