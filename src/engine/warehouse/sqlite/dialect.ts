/**
 * SQLite as a warehouse: one file, one writer at a time. openwarehouse.ts opens it for commands, thread/writerthread.ts
 * for the writer thread.
 */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type BetterSqlite3 from 'better-sqlite3'
import { Kysely, type KyselyPlugin, SqliteDialect, sql } from 'kysely'
import { Stop } from '../../base/errors.js'
import { fromMicros } from '../../base/timestamp.js'
import { rememberStatement } from '../classify.js'
import type { Database } from '../database.js'
import type { Catalog, Dialect, DialectOptions, Interference, LiveColumn, LiveIndex } from '../dialect.js'
import { Sqlite } from './driver.js'
import { classify, classifyOpening } from './drivererrors.js'
import { deletingSecurely, withoutTraces } from './erase.js'
import { dialectSql } from './expressions.js'
import {
  makeFile,
  makeFolder,
  mayWrite,
  NamedFile,
  noDeliveries,
  openReadOnly,
  provideTemporaryFolder,
  refuseShards,
} from './file.js'
import { encode, rowsOf, type SqlitePage, type TupleRows } from './rows.js'
import { scan } from './scan.js'
import { narrowIntegers, SqliteSession } from './session.js'
import { WriterThread } from './thread/writerclient.js'
import { viewStore } from './views/viewstore.js'
import { WriteLock } from './writelock.js'

function interferences(raw: BetterSqlite3.Database, tables: readonly string[]): Interference[] {
  const found = raw
    .prepare<[string], { readonly table: string; readonly name: string; readonly type: 'trigger' | 'view' }>(
      `select tbl_name as "table", name, type from sqlite_master
        where type in ('trigger', 'view') and tbl_name in (select value from json_each(?)) order by name`,
    )
    .all(JSON.stringify(tables))
  return found.map(({ table, name, type }) =>
    type === 'trigger'
      ? { table, problem: `the trigger ${name}`, hint: `Type: drop trigger ${name}`, isHarmful: false }
      : {
          table,
          problem: 'a view in place of the table',
          hint: `Rename or drop the view ${name}: the next run creates the table again and fills it`,
          isHarmful: true,
        },
  )
}

/**
 * The columns of an index come in order, which an aggregate preserves only from an ordered subquery. A key that is one
 * whole number has no index: it is the table's own.
 */
const indexes = `select m.name as "table", l.name as name, 0 as is_primary,
    (select json_group_array(name) from (select name from pragma_index_info(l.name) order by seqno)) as columns
  from sqlite_schema m, pragma_index_list(m.name) l
  where m.type = 'table' and l.origin <> 'pk' and m.name not like 'sqlite!_%' escape '!'
  union all
  select m.name, m.name, 1, (select json_group_array(name) from
    (select name from pragma_table_info(m.name) where pk > 0 order by pk)) as columns
  from sqlite_schema m
  where m.type = 'table' and m.name not like 'sqlite!_%' escape '!' and columns <> '[]'`

const liveIndexes = (raw: BetterSqlite3.Database): LiveIndex[] =>
  raw
    .prepare<
      [],
      {
        readonly table: string
        readonly name: string
        readonly is_primary: bigint
        /** JSON. */
        readonly columns: string
      }
    >(indexes)
    .all()
    .map(({ table, name, is_primary, columns }) => ({
      table,
      name,
      columns: JSON.parse(columns) as (string | null)[],
      isPrimary: is_primary === 1n,
    }))

/** Without the setting, SQLite would write the new name into our views. */
const setAside = (name: string): string =>
  `pragma legacy_alter_table = on; alter table "${name}" rename to "${name}_before"`

const cacheSize = 'cache_size = -8000'

const exactIntegers: KyselyPlugin = {
  transformQuery: (args) => args.node,
  transformResult: async ({ result }) => {
    narrowIntegers(result.rows)
    return result
  },
}

/** SQLite's name for an in-memory database, which replaces a missing file that is only read. */
const nowhere = ':memory:'

/** Tries something in a folder next to a missing file, and removes the folder. */
async function tryBeside(
  path: string,
  where: string,
  attempt: (folder: string) => Promise<void>,
): Promise<void> {
  let place = dirname(path)
  while (!existsSync(place) && place !== dirname(place)) place = dirname(place)
  let folder: string
  try {
    folder = mkdtempSync(join(place, '.shopsync-check-'))
  } catch (error) {
    throw classifyOpening(error, where)
  }
  try {
    await attempt(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Tries whether a missing file would have room. */
const tryRoomBeside = (path: string, where: string, bytes: number): Promise<void> =>
  tryBeside(path, where, async (folder) => {
    const raw = open(join(folder, 'room.db'), where)
    try {
      await transact({ raw }, () => tryRoom(raw, bytes))
    } finally {
      raw.close()
    }
  })

/** A mistyped folder, if it were made, would begin a whole new warehouse, perhaps on another disk. */
function refuseMissingFolder(path: string, where: string): void {
  const folder = dirname(path)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  throw new Stop(`The warehouse ${where} needs a folder that does not exist, expected one that does`, {
    exitCode: 2,
    hint: `Correct warehouse.url, or type mkdir -p ${folder}; shopsync migrate makes it, too`,
  })
}

function open(
  path: string,
  where: string,
  { isDurable = false, like, existing = false }: Pick<SqliteOptions, 'isDurable' | 'like' | 'existing'> = {},
): BetterSqlite3.Database {
  try {
    if (path !== nowhere && !existsSync(path)) makeFile(path, like)
    const isReadOnly = existing && path !== nowhere && !mayWrite(path)
    const raw = isReadOnly ? openReadOnly(path, where) : new Sqlite(path)
    raw.defaultSafeIntegers(true)
    // A wait inside SQLite blocks its thread: if others must be answered meanwhile, the wait happens outside.
    raw.pragma(`busy_timeout = ${isDurable ? 200 : 5000}`)
    if (!isReadOnly) raw.pragma('journal_mode = WAL')
    // A power cut may lose the last commits, but never part of one: rows and watermark go together, and are fetched
    // again.
    raw.pragma(`synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`)
    raw.pragma(cacheSize)
    // Commits write the same index pages again and again: a checkpoint every 64 MB instead of every 4 saves 10 % of a
    // load.
    raw.pragma('wal_autocheckpoint = 16000')
    raw.pragma('journal_size_limit = 67108864')
    // The first read makes the files beside it.
    raw.pragma('schema_version')
    return raw
  } catch (error) {
    throw classifyOpening(error, where)
  }
}

interface Opened {
  readonly raw: BetterSqlite3.Database
  /** undefined for a database in memory. */
  readonly named?: NamedFile
}

function openNamed(path: string, where: string, options: SqliteOptions): Opened {
  const { file, existing, makesFolder } = options
  if (makesFolder) makeFolder(dirname(path), where)
  else refuseMissingFolder(path, where)
  // An empty file, whose place a warehouse may still take, stays as it is.
  if (existing && !statSync(path, { throwIfNoEntry: false })?.size) return { raw: open(nowhere, where) }
  const named = new NamedFile(path, where, file)
  const raw = open(path, where, options)
  named.open()
  return { raw, named }
}

async function transact<T>({ raw, named }: Opened, work: () => Promise<T>): Promise<T> {
  raw.exec('begin immediate')
  try {
    const result = await work()
    named?.check()
    raw.exec('commit')
    return result
  } catch (error) {
    if (raw.inTransaction) raw.exec('rollback')
    throw error
  }
}

async function roomBeside(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize
}

/**
 * The cache is small here: a rollback discards what never reached the disk, so a full disk would go unnoticed. If there is a
 * warehouse, a row of its own does: after a table that is rolled back, SQLite parses the texts of all views again.
 */
async function tryRoom(raw: BetterSqlite3.Database, bytes: number): Promise<void> {
  raw.pragma('cache_size = 10')
  try {
    const [table = 'shopsync_check'] = raw
      .prepare("select name from sqlite_master where type = 'table' and name = 'sync_meta'")
      .pluck()
      .all()
    if (table === 'shopsync_check') raw.exec('create table shopsync_check (name, value)')
    raw.prepare(`insert into ${table} (name, value) values ('room', zeroblob(?))`).run(bytes)
  } finally {
    raw.pragma(cacheSize)
  }
}

const liveColumns = (raw: BetterSqlite3.Database): LiveColumn[] =>
  raw
    .prepare<[], LiveColumn>(
      `select m.name as "table", c.name as name, c.type as type from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite!_%' escape '!'`,
    )
    .all()

/** Asks again only after a change of any table. SQLite counts those, and counts one that is rolled back no more. */
function askedOnce<T>(raw: BetterSqlite3.Database, ask: (of: typeof raw) => T): () => Promise<T> {
  let known: { readonly version: unknown; readonly answer: T } | undefined
  return async () => {
    if (raw.inTransaction) return ask(raw)
    const version = raw.pragma('schema_version', { simple: true })
    if (known === undefined || known.version !== version) known = { version, answer: ask(raw) }
    return known.answer
  }
}

const catalogOf = (
  { raw, named }: Opened,
  { path, where }: { readonly path: string; readonly where: string },
): Catalog => ({
  liveColumns: askedOnce(raw, liveColumns),
  liveIndexes: askedOnce(raw, liveIndexes),
  interferences: async (tables) => interferences(raw, tables),
  absence: async () => ({
    problem: existsSync(path) ? `the file ${path} has none of its tables` : `there is no file ${path}`,
    hint: 'Type shopsync sync, which makes one there, or correct "warehouse" in the configuration',
  }),
  narrowEncoding: async () => undefined,
  waitBriefly: async () => {},
  prepare: async () => (named ? undefined : tryBeside(path, where, async () => {})),
  tryRoom: (_, { bytes }) => (named ? tryRoom(raw, bytes) : tryRoomBeside(path, where, bytes)),
  comments: () => [],
  // SQLite can't change a key, so another table takes its place.
  keyStatement: ({ name }) => setAside(name),
  setAside,
})

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

interface SqliteOptions extends Pick<DialectOptions, 'threadFrom' | 'existing' | 'makesFolder' | 'sharedBy'> {
  /** Every commit is on disk before it is confirmed. */
  readonly isDurable?: boolean
  /** If the file is made, it gets the owner and the mode of this one. */
  readonly like?: string
  /** The file that the main thread has open, for the writer thread. */
  readonly file?: string | undefined
}

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
  const opened = openNamed(path, where, options)
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
    catalog: catalogOf(opened, { path, where }),
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
