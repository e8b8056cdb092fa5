import { Bug, Retry, Skip, Stop } from '../errors.js'

/**
 * An error in the classes of errors.ts. Errors of those classes pass through; `judge` knows the driver's codes, and
 * returns undefined for an error that it does not know.
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

/** The hint whose name the code begins with. */
export function hintFor(hints: Readonly<Record<string, string>>, code: string): string | undefined {
  const family = Object.keys(hints).find((name) => code.startsWith(name))
  return family === undefined ? undefined : hints[family]
}
