/**
 * The file of a warehouse by its name: whether the one that is open still has it. What is written into a file without a
 * name is lost with the process. Used by sqlite/dialect.ts.
 */
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, realpathSync, rmSync, statSync } from 'node:fs'
import { Stop } from '../../base/errors.js'
import { wentBack } from '../lease/fence.js'
import { classifyOpening } from './drivererrors.js'

/** Device and number of the file at a path. A number isn't used again while this process has the file open. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

/**
 * Makes an empty file. Customer data is for its owner only; a file beside another one (`like`) is for all who may use
 * that one, also if root makes it. SQLite gives its `-wal` and `-shm` files the same owner and mode.
 */
export function makeFile(path: string, like?: string): void {
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
export function makeFolder(folder: string, where: string): void {
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
