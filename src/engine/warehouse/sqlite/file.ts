/**
 * The file of a warehouse: how it is opened, also by those who may not write it, whether the one that is open still has its
 * name, and where SQLite puts temporary files. Used by sqlite/dialect.ts and catalog.ts.
 */
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { Stop } from '../../base/errors.js'
import type { DialectOptions } from '../dialect.js'
import { wentBack } from '../lease/fence.js'
import type { DeliveryPlace } from '../queue/deliveries.js'
import { classifyOpening } from './drivererrors.js'

/* What is written into a file without a name is lost with the process. */

/** Device and number of the file at a path. A number isn't used again while this process has the file open. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

/**
 * Makes an empty file. Customer data is for its owner only; a file beside another one (`like`) is for all who may use
 * that one, also if root makes it. SQLite gives its `-wal` and `-shm` files the same owner and mode.
 */
function makeFile(path: string, like?: string): void {
  closeSync(openSync(path, 'a', 0o600))
  if (like === undefined) return
  const { uid, gid, mode } = statSync(like)
  try {
    chownSync(path, uid, gid)
    chmodSync(path, mode & 0o777)
  } catch {
    // Only root may give a file away: it stays the user's own.
  }
}

/** Makes the folder of a new file, and those above it. */
function makeFolder(folder: string, where: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw classifyOpening(error, where)
  }
}

/** Only one process at a time writes a file. `found`: what asks for several, as it was typed. */
export function refuseShards(where: string, found = 'shards'): never {
  throw new Stop(
    `Found ${found} and the warehouse ${where}, expected Postgres: several machines can't write a file`,
    {
      exitCode: 2,
      hint: 'Type shopsync schedule here, or shopsync copy --to postgres://user:password@host:5432/database first',
    },
  )
}

/** No worker on another machine could take anything. */
export const noDeliveries: DeliveryPlace = {
  seen: async () => undefined,
  obstacle: async () => undefined,
  open: async () => {
    throw new Stop('The warehouse is a SQLite file, and workers need one on Postgres; nothing was done', {
      exitCode: 2,
      hint: 'Type shopsync schedule here, without schedule.shards; or shopsync copy --to postgres://… first',
    })
  },
}

export class NamedFile {
  /** The file that is open. undefined before it is. */
  #opened: string | undefined
  /** The files that SQLite keeps beside it while it is open. */
  #beside: ReadonlyMap<string, string | undefined> = new Map()

  /** `opened`: if another thread has opened it. */
  constructor(
    private readonly path: string,
    private readonly where: string,
    opened?: string,
  ) {
    this.#opened = opened
    // Opening a file may write to it.
    this.check()
  }

  get opened(): string | undefined {
    return this.#opened
  }

  /** Called when it is open. */
  open(): void {
    this.#opened ??= fileAt(this.path)
    const real = realpathSync(this.path)
    this.#beside = new Map(['-wal', '-shm'].map((end) => [`${real}${end}`, fileAt(`${real}${end}`)]))
  }

  /** Whether it was replaced or removed since. */
  isGone(): boolean {
    return this.#opened !== undefined && fileAt(this.path) !== this.#opened
  }

  /** See Dialect.file.atPath. */
  atPath(): string | undefined {
    const { size, mtimeNs } = statSync(this.path, { bigint: true, throwIfNoEntry: false }) ?? {}
    return size === undefined ? undefined : `${fileAt(this.path)} ${size} ${mtimeNs}`
  }

  /** Throws Stop if it was replaced or removed. */
  check(): void {
    if (this.isGone())
      throw wentBack(`The file of the warehouse ${this.where} was replaced or removed while it was open`)
  }

  /**
   * Called when it is closed. If it was replaced, SQLite leaves its files behind, and the next program that opens
   * the file that is there now would write the pages of the former one into it.
   */
  close(): void {
    if (!this.isGone()) return
    for (const [path, file] of this.#beside) if (file !== undefined && fileAt(path) === file) rmSync(path)
  }
}

/*
 * A user who may not write it, or not in its folder, such as on a read-only mount. A file in WAL mode needs two files
 * beside it even for reading, and SQLite makes them; made by a reader, they could keep the owner from writing. So nothing
 * is ever made here.
 */

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    accessSync(dirname(path), constants.W_OK)
    return true
  } catch {
    return false
  }
}

const sizeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size

/** Where the file's header says how it is written and read: 2 is WAL, 1 any other journal. */
const modes = [18, 19] as const

function isWal(path: string): boolean {
  const header = Buffer.alloc(20)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, header.length, 0)
  } finally {
    closeSync(file)
  }
  return modes.some((at) => header[at] === 2)
}

/** Node reads no larger file at once. */
const mostRead = 2 ** 31 - 1

const aside = (where: string, why: string): Stop =>
  new Stop(`The warehouse ${where} cannot be read by a user who may not write there: ${why}`, {
    exitCode: 3,
    hint: 'Type shopsync copy --to sqlite:COPY.db as a user who may, and read the copy',
  })

/** A writer may begin and end while the file is read: then it is read again. */
const attempts = 3

/** The file's content in memory. Only valid while nobody writes: then all of it is in the file itself. */
function inMemory(path: string, where: string): BetterSqlite3.Database | undefined {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const before = statSync(path, { bigint: true })
    if (before.size > mostRead) throw aside(where, 'it is larger than 2 GB and no program has it open')
    const content = readFileSync(path)
    const after = statSync(path, { bigint: true })
    if (sizeOf(`${path}-wal`)) return undefined
    if (before.mtimeNs !== after.mtimeNs || before.ino !== after.ino) continue
    for (const at of modes) content[at] = 1
    return new BetterSqlite3(content, { readonly: true })
  }
  return undefined
}

function openReadOnly(path: string, where: string): BetterSqlite3.Database {
  const isOpenElsewhere = (): boolean => sizeOf(`${path}-shm`) !== undefined
  if (isWal(path) && !isOpenElsewhere()) {
    const copy = sizeOf(`${path}-wal`) ? undefined : inMemory(path, where)
    if (copy) return copy
    if (!isOpenElsewhere())
      throw aside(
        where,
        `its last changes are in ${path}-wal, which needs a ${path}-shm that nobody has made`,
      )
  }
  return new BetterSqlite3(path, { readonly: true })
}

const cacheSize = 'cache_size = -8000'

/** SQLite's name for an in-memory database, which replaces a missing file that is only read. */
const nowhere = ':memory:'

/** How a file is opened. */
export interface FileOptions extends Pick<DialectOptions, 'existing' | 'makesFolder'> {
  /** Every commit is on disk before it is confirmed. */
  readonly isDurable?: boolean
  /** If the file is made, it gets the owner and the mode of this one. */
  readonly like?: string
  /** The file that the main thread has open, for the writer thread. */
  readonly file?: string | undefined
}

export interface Opened {
  readonly raw: BetterSqlite3.Database
  /** undefined for a database in memory. */
  readonly named?: NamedFile
}

/** A mistyped folder, if it were made, would begin a whole new warehouse, perhaps on another disk. */
function refuseMissingFolder(path: string, where: string): void {
  const folder = dirname(path)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  throw new Stop(`The warehouse ${where} needs a folder that does not exist, expected one that does`, {
    exitCode: 2,
    hint: `Correct warehouse.url, or type mkdir -p ${folder}; shopsync migrate makes it, too`,
  })
}

export function openRaw(
  path: string,
  where: string,
  { isDurable = false, like, existing = false }: FileOptions = {},
): BetterSqlite3.Database {
  try {
    if (path !== nowhere && !existsSync(path)) makeFile(path, like)
    const isReadOnly = existing && path !== nowhere && !mayWrite(path)
    const raw = isReadOnly ? openReadOnly(path, where) : new BetterSqlite3(path)
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

export function openFile(path: string, where: string, options: FileOptions): Opened {
  const { file, existing, makesFolder } = options
  if (makesFolder) makeFolder(dirname(path), where)
  else refuseMissingFolder(path, where)
  // An empty file, whose place a warehouse may still take, stays as it is.
  if (existing && !statSync(path, { throwIfNoEntry: false })?.size) return { raw: openRaw(nowhere, where) }
  const named = new NamedFile(path, where, file)
  const raw = openRaw(path, where, options)
  named.open()
  return { raw, named }
}

export async function transact<T>({ raw, named }: Opened, work: () => Promise<T>): Promise<T> {
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

/** With a small cache: a rollback discards what never reached the disk, so a full disk would go unnoticed. */
export function uncached(raw: BetterSqlite3.Database, work: () => void): void {
  raw.pragma('cache_size = 10')
  try {
    work()
  } finally {
    raw.pragma(cacheSize)
  }
}

/*
 * Where SQLite writes temporary files: to sort, to make an index, to undo a statement. It takes the first of some folders that
 * may be written, and fails with an I/O error where none may, as in a container whose system is read-only. Then the folder of
 * the warehouse serves. Not memory: a large sort would use as much of it as the table has.
 */

function mayWriteIn(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return statSync(folder).isDirectory()
  } catch {
    return false
  }
}

/** SQLite reads the environment once, when the first file is opened. */
export function provideTemporaryFolder(url: string): void {
  const { SQLITE_TMPDIR, TMPDIR } = process.env
  // The folders that SQLite tries, in its order.
  const usual = [SQLITE_TMPDIR, TMPDIR, '/var/tmp', '/usr/tmp', '/tmp', '.'].flatMap((folder) => folder ?? [])
  const own = dirname(resolve(url.slice('sqlite:'.length)))
  if (!usual.some(mayWriteIn) && mayWriteIn(own)) process.env['SQLITE_TMPDIR'] = own
}
