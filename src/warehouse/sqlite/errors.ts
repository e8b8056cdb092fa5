import { Retry, Stop } from '../../errors.js'
import { classifyWith, hintFor } from '../classify.js'

/** By the beginning of SQLite's code. */
const hints: Record<string, string> = {
  SQLITE_NOTADB: 'Expected a SQLite file: name another path in warehouse.url, or move this file away',
  SQLITE_CANTOPEN: 'Expected a path that can be created and written: check the folder and its permissions',
  SQLITE_READONLY: 'Expected a file and folder that this user may write: check their permissions',
  SQLITE_FULL: 'Free some space and run the same command again: what is committed is complete',
  SQLITE_CORRUPT: 'Restore the file from a backup, or delete it and sync again',
  SQLITE_IOERR: 'Check the disk; what is committed is complete',
}

/** An error of better-sqlite3 in the classes of errors.ts. */
export const classify = (error: unknown, where: string): Error =>
  classifyWith(error, (cause, code) => {
    if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_LOCKED')
      return new Retry(`${where} is locked by another process`, { cause })
    const hint = hintFor(hints, code)
    if (hint === undefined) return undefined
    const exitCode = /^SQLITE_(FULL|IOERR)/.test(code) ? 1 : 3
    return new Stop(`The warehouse ${where} cannot be written: ${cause.message} (${code})`, {
      exitCode,
      hint,
      cause,
    })
  })

/** Opening fails with errors that have no code too, such as those of the file system. */
export function classifyOpening(error: unknown, where: string): Error {
  const classed = classify(error, where)
  if (classed !== error) return classed
  return new Stop(`The warehouse ${where} cannot be opened: ${classed.message}`, {
    exitCode: 3,
    hint: hints.SQLITE_CANTOPEN ?? '',
    cause: error,
  })
}
