import { Bug, Retry, Skip, Stop } from '../base/errors.js'

/**
 * Maps an error to the classes of errors.ts. Errors of those classes pass through. `judge` knows the driver's codes,
 * and returns undefined for an error that it doesn't know.
 */
export function classifyWith(
  error: unknown,
  judge: (error: Error, code: string) => Error | undefined,
): Error {
  if (error instanceof Retry || error instanceof Skip || error instanceof Stop || error instanceof Bug)
    return error
  if (!(error instanceof Error)) return new Bug(String(error))
  return judge(error, 'code' in error && typeof error.code === 'string' ? error.code : '') ?? error
}

/** The hint whose name the code begins with. If there are several, the longest name is the most specific. */
export function hintFor(hints: Readonly<Record<string, string>>, code: string): string | undefined {
  const families = Object.keys(hints).filter((name) => code.startsWith(name))
  const [family] = families.sort((a, b) => b.length - a.length)
  return family === undefined ? undefined : hints[family]
}

/**
 * A problem with the rows of one table: that cursor fails, and the others continue. `words`: the database's own
 * message; undefined if it may contain values of a row.
 */
export const tableTrouble = (where: string, { table, words, code, hint, cause }: TroubleDetails): Skip => {
  const of = table === undefined ? '' : ` of ${table}`
  const told = words === undefined ? '' : `: ${words}`
  return new Skip(`The warehouse ${where} refuses the rows${of}${told} (${code})`, {
    reason: 'failed',
    code: 'warehouse',
    hint,
    cause,
  })
}

interface TroubleDetails {
  readonly table?: string | undefined
  readonly words: string | undefined
  /** The database's code. */
  readonly code: string
  readonly hint: string
  readonly cause: Error
}
