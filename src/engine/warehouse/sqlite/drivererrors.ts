import { Retry, Stop } from '../../base/errors.js'
import { classifyWith, hintFor, tableTrouble } from '../classify.js'

/** By the beginning of SQLite's code. */
const hints: Record<string, string> = {
  SQLITE_NOTADB: 'Expected a SQLite file: name another path in warehouse.url, or move this file away',
  SQLITE_CANTOPEN: 'Expected a path that can be created and written: check the folder and its permissions',
  SQLITE_READONLY: 'Expected a file and folder that this user may write: check their permissions',
  SQLITE_FULL: 'Free some space and run the same command again: what is committed is complete',
  SQLITE_CORRUPT: 'Restore the file from a backup, or delete it and sync again',
  SQLITE_IOERR: 'Check the disk and its free space; what is committed is complete',
}

const unwanted = 'Drop it: the data is stored as the API sends it, and a database constraint cannot fix it'
const foreign =
  'Expected the table as shopsync created it: undo the change to it, or rename it and run shopsync sync'

/** Problems with the rows of one table, by the beginning of SQLite's code. The other tables can still be written. */
const troubles: Record<string, string> = {
  SQLITE_CONSTRAINT: foreign,
  SQLITE_CONSTRAINT_CHECK: `Drop the constraint that was added. ${unwanted}`,
  SQLITE_CONSTRAINT_FOREIGNKEY: `Drop the constraint that was added. ${unwanted}`,
  SQLITE_CONSTRAINT_TRIGGER: 'Drop the trigger that was added to the table',
  SQLITE_CONSTRAINT_UNIQUE: `Drop the unique index that was added. ${unwanted}`,
  SQLITE_MISMATCH: foreign,
  SQLITE_TOOBIG: 'The row is larger than SQLite allows: see shopsync quarantine list',
}

/**
 * SQLite has a single code for everything that a statement may find missing, and for mistakes in the statement itself.
 */
const lacking = /^(no such (table|column)|table \S+ has no column named|ON CONFLICT clause does not match)/
const created = 'The next run creates it again and fills it; so does shopsync migrate, then shopsync sync'

function troubleOf(cause: Error, code: string, where: string): Error | undefined {
  const { message } = cause
  const isLacking = code === 'SQLITE_ERROR' && lacking.test(message)
  const hint = isLacking ? (message.startsWith('ON') ? foreign : created) : hintFor(troubles, code)
  if (hint === undefined) return undefined
  // A trigger's message was written by a user and may contain values of the row.
  const words = code === 'SQLITE_CONSTRAINT_TRIGGER' ? undefined : message
  return tableTrouble(where, { words, code, hint, cause })
}

/** Maps an error of better-sqlite3 to the classes of errors.ts. */
export const classify = (error: unknown, where: string): Error =>
  classifyWith(error, (cause, code) => {
    if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_LOCKED')
      return new Retry(`${where} is locked by another process`, { cause })
    const hint = hintFor(hints, code)
    if (hint === undefined) return troubleOf(cause, code, where)
    const exitCode = /^SQLITE_(FULL|IOERR)/.test(code) ? 1 : 3
    // A command that only reads can find these, too.
    const done = /^SQLITE_(NOTADB|CORRUPT)/.test(code) ? 'read' : 'written'
    return new Stop(`The warehouse ${where} cannot be ${done}: ${cause.message} (${code})`, {
      exitCode,
      hint,
      cause,
    })
  })

/** No binary of better-sqlite3 (npm ran no install scripts; `tries` are the paths it looked for), or one for another Node. */
const isBinaryMissing = (error: unknown): boolean =>
  error instanceof Error && ('tries' in error || ('code' in error && error.code === 'ERR_DLOPEN_FAILED'))

/** Opening can also fail with errors that have no code, such as those of the file system. */
export function classifyOpening(error: unknown, where: string): Error {
  if (isBinaryMissing(error))
    return new Stop(`better-sqlite3 has no binary that Node ${process.version} can load`, {
      exitCode: 3,
      hint: 'Type npm rebuild better-sqlite3 in the folder where shopsync is installed; docs/install.md has more',
      cause: error,
    })
  const classed = classify(error, where)
  if (classed !== error) return classed
  return new Stop(`The warehouse ${where} cannot be opened: ${classed.message}`, {
    exitCode: 3,
    hint: hints.SQLITE_CANTOPEN ?? '',
    cause: error,
  })
}
