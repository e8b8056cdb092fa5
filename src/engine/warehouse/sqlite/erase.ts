/**
 * Erases permanently. Deleted rows stay in a SQLite file: on free pages, in the space between rows, in the -wal file.
 * Used by sqlite/dialect.ts.
 */
import { basename } from 'node:path'
import type BetterSqlite3 from 'better-sqlite3'
import type { Traces } from '../dialect.js'

const end = 'End that program (a BI tool, an open sqlite3)'
const elsewhere = 'Backups and copies of the file keep what they hold'

/** Overwrites what the work deletes, while it works. */
export async function deletingSecurely(
  raw: BetterSqlite3.Database,
  work: () => Promise<void>,
): Promise<void> {
  raw.pragma('secure_delete = ON')
  try {
    await work()
  } finally {
    raw.pragma('secure_delete = OFF')
  }
}

/**
 * Empties the -wal file and rewrites the database file without its free pages. A reader of an older state prevents
 * both: that state, including the deleted rows, has to stay until the reader has ended.
 */
export function withoutTraces(raw: BetterSqlite3.Database): Traces {
  try {
    raw.pragma('busy_timeout = 1000')
    emptyLog(raw)
    raw.exec('vacuum')
    return emptyLog(raw)
      ? { left: null, elsewhere }
      : left(raw, `another program is reading an older state of it. ${end}`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    const isBusy = String(error.code).startsWith('SQLITE_BUSY') || error.code === 'SQLITE_LOCKED'
    return left(
      raw,
      isBusy ? `another program is using it. ${end}` : `it could not be rewritten: ${error.message}`,
    )
  } finally {
    raw.pragma('busy_timeout = 5000')
  }
}

/** Whether the -wal file is empty now. */
function emptyLog(raw: BetterSqlite3.Database): boolean {
  const [answer] = raw.pragma('wal_checkpoint(TRUNCATE)') as { readonly busy: bigint | number }[]
  return Number(answer?.busy ?? 1) === 0
}

const left = ({ name }: BetterSqlite3.Database, why: string): Traces => ({
  left: `Traces remain in ${basename(name)} and its -wal file: ${why}`,
  elsewhere,
})
