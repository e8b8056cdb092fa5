import { Retry, Stop } from '../../base/errors.js'
import { word } from '../../base/format.js'
import {
  away,
  classifyWith,
  createdAgain,
  type DriverError,
  everybodys,
  foreign,
  type Trouble,
  tables,
  troubleOf,
} from '../classify.js'

const asSent = 'the data is stored as the API sends it, and a database constraint cannot fix it'
const unwritable =
  'Expected a file and a folder that this user may read and write: check their owner and permissions'

const notWritten = 'cannot be written'
/** A command that only reads can find these, too. */
const notRead = 'cannot be read'

/** Whose trouble an error is, by the beginning of SQLite's code. See classify.ts. */
const troubles: Readonly<Record<string, Trouble>> = {
  SQLITE_BUSY: away,
  SQLITE_LOCKED: away,
  SQLITE_NOTADB: everybodys(
    'Expected a SQLite file: name another path in warehouse.url, or move this file away',
    { does: notRead },
  ),
  SQLITE_CANTOPEN: everybodys(unwritable, { does: 'cannot be opened' }),
  SQLITE_READONLY: everybodys(
    'Expected a file and folder that this user may write: check their permissions',
    { does: notWritten },
  ),
  SQLITE_FULL: everybodys('Free some space and run the same command again: what is committed is complete', {
    does: notWritten,
    exitCode: 1,
  }),
  SQLITE_IOERR: everybodys('Check the disk and its free space; what is committed is complete', {
    does: notWritten,
    exitCode: 1,
  }),
  SQLITE_IOERR_GETTEMPPATH: everybodys(
    'Expected a folder for temporary files that this user may write: name one in the variable SQLITE_TMPDIR',
    { does: notWritten },
  ),
  SQLITE_NOMEM: everybodys('Free some memory and run the same command again: what is committed is complete', {
    does: notWritten,
    exitCode: 1,
  }),
  SQLITE_CONSTRAINT: tables(foreign),
  SQLITE_CONSTRAINT_CHECK: tables(`Drop the constraint that was added: ${asSent}`),
  SQLITE_CONSTRAINT_FOREIGNKEY: tables(`Drop the constraint that was added: ${asSent}`),
  SQLITE_CONSTRAINT_TRIGGER: tables('Drop the trigger that was added to the table'),
  SQLITE_CONSTRAINT_UNIQUE: tables(`Drop the unique index that was added: ${asSent}`),
  SQLITE_MISMATCH: tables(foreign),
  SQLITE_TOOBIG: tables('A value is larger than SQLite allows: Postgres may hold it'),
}

/**
 * SQLite has a single code for everything that a statement may find missing, and for mistakes in the statement itself.
 */
const lacking = /^(no such (table|column)|table \S+ has no column named|ON CONFLICT clause does not match)/

/**
 * The two files beside a warehouse belong to the file that was there when they were written. Left beside a backup, they
 * damage it, and somebody who has just restored it would be told to do so again.
 */
function damaged(where: string): Trouble {
  const file = where.replace(/^sqlite:/, '')
  const beside = ['wal', 'shm'].map((name) => word(`${file}-${name}`)).join(' ')
  const type = `rm -f ${beside}`
  return everybodys(
    `Restore the file from a backup, after what belongs to the file that was there before is removed: type ${type}; or delete all three and sync again`,
    { does: notRead, type: [type] },
  )
}

function judge({ cause: { message }, code, table }: DriverError, where: string): Trouble | undefined {
  if (code.startsWith('SQLITE_CORRUPT')) return damaged(where)
  if (code === 'SQLITE_ERROR') {
    if (!lacking.test(message)) return table === undefined ? undefined : tables(foreign)
    // A table that a trigger needs isn't created by anything of ours.
    const isOurs = table === undefined || !message.startsWith('no such table') || message.includes(table)
    return tables(message.startsWith('ON') || !isOurs ? foreign : createdAgain)
  }
  const isKnown = table !== undefined && code.startsWith('SQLITE_')
  return troubleOf(troubles, code) ?? (isKnown ? tables(foreign) : undefined)
}

/** Maps an error of better-sqlite3 to the classes of errors.ts. */
export const classify = (error: unknown, where: string): Error =>
  classifyWith(error, {
    where,
    special: ({ cause, code }) =>
      troubleOf(troubles, code)?.whose === 'away'
        ? new Retry(`${where} is locked by another process`, {
            cause,
            hint: 'Expected that others hold it for moments only: end the program that keeps a transaction open, such as a database browser',
          })
        : undefined,
    trouble: (found) => judge(found, where),
    // A trigger's message was written by a user and may contain values of the row.
    words: ({ cause, code }) => (code === 'SQLITE_CONSTRAINT_TRIGGER' ? undefined : cause.message),
  })

/** No binary of better-sqlite3 (npm ran no install scripts; `tries` are the paths it looked for), or one for another Node. */
const isBinaryMissing = (error: unknown): boolean =>
  error instanceof Error && ('tries' in error || ('code' in error && error.code === 'ERR_DLOPEN_FAILED'))

/** Opening can also fail with errors that have no code, such as those of the file system. */
export function classifyOpening(error: unknown, where: string): Error {
  if (error instanceof Stop) return error
  if (isBinaryMissing(error))
    return new Stop(`better-sqlite3 has no binary that Node ${process.version} can load`, {
      exitCode: 3,
      hint: 'Type npm rebuild better-sqlite3 in the folder where shopsync is installed; docs/production.md has more',
      cause: error,
    })
  const classed = classify(error, where)
  if (classed !== error) return classed
  return new Stop(`The warehouse ${where} cannot be opened: ${classed.message}`, {
    exitCode: 3,
    hint: unwritable,
    cause: error,
  })
}
