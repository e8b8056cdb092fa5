/**
 * Opens a file for a user who may not write it, or not in its folder, such as on a read-only mount. A file in WAL mode
 * needs two files beside it even for reading, and SQLite makes them; made by a reader, they could keep the owner from
 * writing. So nothing is ever made here. Used by sqlite/dialect.ts for commands that only read.
 */
import { accessSync, closeSync, constants, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type BetterSqlite3 from 'better-sqlite3'
import { Stop } from '../../base/errors.js'
import { Sqlite } from './driver.js'

export function mayWrite(path: string): boolean {
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
    return new Sqlite(content, { readonly: true })
  }
  return undefined
}

export function openReadOnly(path: string, where: string): BetterSqlite3.Database {
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
  return new Sqlite(path, { readonly: true })
}
