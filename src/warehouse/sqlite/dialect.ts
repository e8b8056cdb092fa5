import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { Kysely, type KyselyPlugin, SqliteDialect } from 'kysely'
import type { Kind } from '../../../schema/resource.js'
import { Bug, Retry, Skip, Stop } from '../../errors.js'
import type { Flattened } from '../../model/flatten/batch.js'
import { fromMicros } from '../../timestamp.js'
import { type Database, type Dialect, exact, type LiveColumn, type Session } from '../dialect.js'
import { SqliteSession, sqliteRows } from './session.js'
import { WriterThread } from './thread/client.js'
import { isPacked, packEarly, release } from './thread/pack.js'
import { WriteLock } from './writelock.js'

const types: Record<Kind, string> = {
  id: 'INTEGER',
  integer: 'INTEGER',
  cents: 'INTEGER',
  number: 'REAL',
  boolean: 'INTEGER',
  text: 'TEXT',
  timestamp: 'TEXT',
  json: 'TEXT',
}

/** Smaller batches are written where they are: the way to the thread and back would take longer than the writing. */
const threadedFrom = 300

const rowsIn = ({ rows }: Flattened): number =>
  [...rows.values()].reduce((sum, tuples) => sum + tuples.length, 0)

/** SQLite gives every integer as bigint (ids are exact); what is safe as a number becomes one. */
const exactIntegers: KyselyPlugin = {
  transformQuery: (args) => args.node,
  transformResult: async ({ result }) => {
    for (const row of result.rows)
      for (const name in row) {
        const value = row[name]
        if (typeof value === 'bigint') row[name] = exact(value)
      }
    return result
  },
}

const hints: Record<string, string> = {
  SQLITE_NOTADB: 'Expected a SQLite file: name another path in warehouse.url, or move this file away',
  SQLITE_CANTOPEN: 'Expected a path that can be created and written: check the folder and its permissions',
  SQLITE_READONLY: 'Expected a file and folder that this user may write: check their permissions',
  SQLITE_FULL: 'Free some space and run the same command again: what is committed is complete',
  SQLITE_CORRUPT: 'Restore the file from a backup, or delete it and sync again',
  SQLITE_IOERR: 'Check the disk; what is committed is complete',
}

function classify(error: unknown, where: string): Error {
  if (error instanceof Retry || error instanceof Skip || error instanceof Stop || error instanceof Bug)
    return error
  if (!(error instanceof Error)) return new Bug(String(error))
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_LOCKED')
    return new Retry(`${where} is locked by another process`, { cause: error })
  const family = Object.keys(hints).find((name) => code.startsWith(name))
  if (family)
    return new Stop(`The warehouse ${where} cannot be written: ${error.message} (${code})`, {
      exitCode: family === 'SQLITE_FULL' || family === 'SQLITE_IOERR' ? 1 : 3,
      hint: hints[family] ?? '',
      cause: error,
    })
  return error
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
    raw.pragma('cache_size = -8000')
    // Index pages are written again and again: checkpointed every 64 MB instead of every 4, a load takes 10 % less.
    raw.pragma('wal_autocheckpoint = 16000')
    raw.pragma('journal_size_limit = 67108864')
    return raw
  } catch (error) {
    const failed = classify(error, where)
    if (failed !== error || !(error instanceof Error)) throw failed
    throw new Stop(`The warehouse ${where} cannot be opened: ${error.message}`, {
      exitCode: 3,
      hint: hints.SQLITE_CANTOPEN ?? '',
      cause: error,
    })
  }
}

/** `url`: `sqlite:PATH`. The file and its folder are created if missing. */
export function sqliteDialect(url: string, threadFrom = threadedFrom): Dialect {
  const path = resolve(url.slice('sqlite:'.length))
  const where = `sqlite:${path}`
  const raw = open(path, where)
  const db = new Kysely<Database>({
    dialect: new SqliteDialect({ database: raw }),
    plugins: [exactIntegers],
  })
  const session = new SqliteSession(raw, db)
  const turns = new WriteLock()
  const writer = new WriterThread(url)

  const transaction = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    // Kysely hands out its one connection to one holder at a time: nothing else can slip into the transaction.
    turns.own(() =>
      db.connection().execute(async () => {
        raw.exec('begin immediate')
        try {
          const result = await work(session)
          raw.exec('commit')
          return result
        } catch (error) {
          if (raw.inTransaction) raw.exec('rollback')
          throw error
        }
      }),
    )

  return {
    db,
    where,
    backlog: 4,
    heapGrowth: 60,
    columnType: (kind) => types[kind],
    transaction,
    warm: () => writer.warm(),
    foresee: (flattened) => {
      if (WriterThread.entry && rowsIn(flattened) >= threadFrom) packEarly(flattened.rows)
    },
    applied: ({ rows }) => release(rows),
    rows: sqliteRows,
    elsewhere: (tables, embedded, batch) =>
      WriterThread.entry && (isPacked(batch.flattened.rows) || rowsIn(batch.flattened) >= threadFrom)
        ? turns.theirs(() => writer.apply(tables, embedded, batch))
        : undefined,
    prepare: async () => {},
    liveTables: () => liveTables(raw),
    liveIndexes: async () => {
      const rows = raw.prepare("select name from sqlite_master where type = 'index'").all() as {
        name: string
      }[]
      return new Set(rows.map((row) => row.name))
    },
    comments: () => [],
    fence: () => db.selectFrom('sync_lease').select('token').where('name', '=', 'run').compile(),
    now: async (_, clock) => fromMicros(clock.nowMicros()),
    classify: (error) => classify(error, where),
    optimize: () => turns.own(async () => void raw.pragma('optimize')),
    close: async () => {
      await writer.close()
      await db.destroy()
    },
  }
}

async function liveTables(raw: BetterSqlite3.Database): Promise<Map<string, LiveColumn[]>> {
  const rows = raw
    .prepare(
      "select m.name as name, c.name as column_name, c.type as type from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'",
    )
    .all() as { name: string; column_name: string; type: string }[]
  const tables = new Map<string, LiveColumn[]>()
  for (const row of rows) {
    const columns = tables.get(row.name) ?? []
    columns.push({ name: row.column_name, type: row.type })
    tables.set(row.name, columns)
  }
  return tables
}
