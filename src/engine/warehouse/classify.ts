/*
 * Whose trouble an error of the database is. Each dialect has one map, by the beginnings of the driver's codes. Everything
 * that isn't everybody's is the trouble of the table whose statement failed: one table must not stop the others. The
 * product's own tables are everybody's, since no cursor can do without them.
 */
import { Bug, outsideCode, Retry, Skip, Stop } from '../base/errors.js'
import { connectionWords } from '../base/networkwords.js'
import { stateTables } from '../model/state.js'

export interface Trouble {
  /**
   * `away`: the same statement may succeed later. `everybody`: the run ends, since the next statement would fail, too.
   * `table`: the cursors that write to the table fail.
   */
  readonly whose: 'away' | 'everybody' | 'table'
  /** What the warehouse does, for people; default: it refuses. */
  readonly does?: string
  readonly exitCode?: 1 | 3
  readonly hint: string
  /** See ErrorDetails. */
  readonly type?: readonly string[]
  /** Passes by itself more often than not: tried a few times before it is the trouble of the table. */
  readonly isPassing?: boolean
}

export const away: Trouble = { whose: 'away', hint: '' }
export const everybodys = (hint: string, how: Pick<Trouble, 'does' | 'exitCode' | 'type'> = {}): Trouble => ({
  whose: 'everybody',
  hint,
  ...how,
})
export const tables = (hint: string, how: Pick<Trouble, 'isPassing' | 'type'> = {}): Trouble => ({
  whose: 'table',
  hint,
  ...how,
})

/** What to type where others changed a table, and where it is missing. */
export const foreign =
  'Expected the table as shopsync created it: undo the change to it, or rename it and run shopsync sync'
export const createdAgain =
  'The next run creates it again and fills it; so does shopsync migrate, then shopsync sync'

/** The trouble whose name the code begins with. If there are several, the longest name is the most specific. */
export function troubleOf(troubles: Readonly<Record<string, Trouble>>, code: string): Trouble | undefined {
  const families = Object.keys(troubles).filter((name) => code.startsWith(name))
  const [family] = families.sort((a, b) => b.length - a.length)
  return family === undefined ? undefined : troubles[family]
}

/** The table of the statement that an error ended. Drivers rarely name it. */
const statementTables = new WeakMap<object, string>()

/** The tables that a statement writes to or reads from. Every statement quotes the names of tables. */
const tablesIn = /\b(?:into|update|from|join)\s+(?:"[^"]+"\.)?"([^"]+)"/gi

/** The tables that a text with the comments of all tables is about. */
const commentedIn = /\bcomment on table\s+(?:"[^"]+"\.)?"([^"]+)"/gi

const namesIn = (statement: string, pattern: RegExp): string[] =>
  [...statement.matchAll(pattern)].flatMap(([, name]) => name ?? [])

/**
 * The table that an error is about: the one that it names, or else the first. A statement on the product's own tables may
 * read another one, which others are more likely to have changed.
 */
function tableOf({ message }: Error, statement: string): string | undefined {
  const tables = namesIn(statement, tablesIn)
  const isNamed = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(message)
  const named = [...tables, ...namesIn(statement, commentedIn)].find(isNamed)
  return named ?? tables.find((name) => !isEverybodys(name)) ?? tables[0]
}

/** The same error; `classify` finds the table of the statement that it ended. */
export function ofStatement(error: unknown, statement: string): unknown {
  if (!(error instanceof Error) || statementTables.has(error)) return error
  const table = tableOf(error, statement)
  if (table !== undefined) statementTables.set(error, table)
  return error
}

/** The same error; `classify` takes it for one of that table. For statements that change the table itself. */
export function ofTable(error: unknown, table: string): unknown {
  if (error instanceof Error) statementTables.set(error, table)
  return error
}

/** For Kysely, which runs some statements without a session. */
export const rememberStatement = (event: {
  readonly level: string
  readonly query: { readonly sql: string }
  readonly error?: unknown
}): void => {
  if (event.level === 'error') ofStatement(event.error, event.query.sql)
}

/** Whether no run can do without the table. */
export const isEverybodys = (table = ''): boolean => table in stateTables || table.startsWith('sync_')

/** Whether the database refused a statement on one table, or is too slow for it; it could be reached. */
export const isOfTable = (error: unknown): boolean =>
  error instanceof Skip || (error instanceof Stop && error.details.table !== undefined)

/** An error of the driver, on its way to the classes of errors.ts. */
export interface DriverError {
  readonly cause: Error
  readonly code: string
  /** The table of the statement that failed, if it is known. */
  readonly table: string | undefined
}

/** How a dialect judges its driver's errors. */
interface Judge {
  readonly where: string
  /** What the error is if that takes more than the code; undefined if it is the trouble of `trouble`. */
  special?(error: DriverError): Error | undefined
  table?(error: Error): string | undefined
  /** undefined if nothing is known about the error. */
  trouble(error: DriverError): Trouble | undefined
  /** The database's own words; undefined if they may contain values of a row, or were written by a user. */
  words(error: DriverError): string | undefined
}

/** A driver's code; empty if it has none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Maps an error to the classes of errors.ts. Errors of those classes pass through. */
export function classifyWith(error: unknown, judge: Judge): Error {
  if (error instanceof Retry || error instanceof Skip || error instanceof Stop || error instanceof Bug)
    return error
  if (!(error instanceof Error)) return new Bug(String(error))
  const code = codeOf(error)
  const found = { cause: error, code, table: statementTables.get(error) ?? judge.table?.(error) }
  const special = judge.special?.(found)
  if (special) return special
  const trouble = judge.trouble(found)
  if (!trouble) return error
  const { where } = judge
  if (trouble.whose === 'away')
    return new Retry(`The warehouse ${where} does not answer${awayWords(error, code)}`, {
      cause: error,
      hint: trouble.hint,
    })
  const refusal = refusalOf(judge, found, trouble)
  if (!trouble.isPassing) return refusal
  return new Retry(`The warehouse ${where} does not answer (${code})`, { cause: refusal })
}

/** The server's own codes have no words of ours, and what has no code has its own words. */
function awayWords(error: Error, code: string): string {
  const outside = outsideCode(error) ?? code
  return /^E[A-Z_]+$/.test(outside) ? `: ${connectionWords(outside)}` : ` (${outside || error.message})`
}

function refusalOf(
  judge: Judge,
  found: DriverError,
  { whose, does, exitCode = 3, hint, type }: Trouble,
): Error {
  const { where } = judge
  const { cause, code, table } = found
  const words = judge.words(found)
  const told = `${words === undefined ? '' : `: ${words}`} (${code})`
  if (whose === 'everybody')
    return new Stop(`The warehouse ${where} ${does ?? 'refuses'}: ${cause.message} (${code})`, {
      exitCode,
      hint,
      type,
      cause,
    })
  if (table !== undefined && isEverybodys(table))
    return new Stop(`The warehouse ${where} refuses ${table}, which every run needs${told}`, {
      exitCode,
      hint,
      type,
      table,
      cause,
    })
  return new Skip(
    `The warehouse ${where} refuses the rows${table === undefined ? '' : ` of ${table}`}${told}`,
    {
      reason: 'failed',
      code: 'warehouse',
      table,
      hint,
      type,
      cause,
    },
  )
}
