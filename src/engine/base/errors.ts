/*
 * The four classes of errors. The class tells the loop what to do next: Retry, Skip the cursor, Stop the run, or report
 * a Bug. Nothing else subclasses Error, and a loop tests the class, never the message. A message says what was found
 * and what was expected; the hint says what to type. Both may carry keys and sizes, never a secret or a customer's
 * data.
 */
import type { Reason } from './reasons.js'

export interface ErrorDetails {
  readonly tenantId?: number | bigint | undefined
  readonly resource?: string
  readonly status?: number
  readonly requestId?: string | undefined
  /** The code the failure is counted under; by default, the class and kind decide. */
  readonly code?: Reason
  /** The table whose statement the database refused. */
  readonly table?: string | undefined
  /** The page was prepared before a record was forgotten. */
  readonly isPreparedBefore?: boolean | undefined
  /** What to type, or where to look. */
  readonly hint?: string | undefined
  /** The lines of the hint that can be typed as they are, into a shell or a client of the database. */
  readonly type?: readonly string[] | undefined
  readonly cause?: unknown
}

abstract class ShopsyncError extends Error {
  constructor(
    message: string,
    readonly details: ErrorDetails = {},
  ) {
    super(message, { cause: details.cause })
  }

  /**
   * What to type, or where to look. It isn't part of the message: the code that prints the error decides where to put
   * it.
   */
  get hint(): string | undefined {
    return this.details.hint || undefined
  }
}

/** The same request may succeed later. `after`: how many milliseconds to wait, if the source said. */
export class Retry extends ShopsyncError {
  override readonly name = 'Retry'
  readonly after: number | undefined
  constructor(message: string, details: ErrorDetails & { after?: number | undefined } = {}) {
    super(message, details)
    this.after = details.after
  }
}

/** This cursor can't continue; the others can. */
export class Skip extends ShopsyncError {
  override readonly name = 'Skip'
  /** `absent`: 404; `refused`: 403, 422; `failed`: retries are used up; `suspicious`: we don't trust the response. */
  readonly reason: 'absent' | 'refused' | 'failed' | 'suspicious'
  constructor(message: string, details: ErrorDetails & { reason: Skip['reason'] }) {
    super(message, details)
    this.reason = details.reason
  }
}

/** The run can't continue. `exitCode`: 2 wrong usage, 3 could not start, 4 locked, 1 failed on the way. */
export class Stop extends ShopsyncError {
  override readonly name = 'Stop'
  readonly exitCode: 1 | 2 | 3 | 4
  constructor(message: string, details: ErrorDetails & { exitCode: 1 | 2 | 3 | 4 }) {
    super(message, details)
    this.exitCode = details.exitCode
  }
}

/** The program is wrong. */
export class Bug extends ShopsyncError {
  override readonly name = 'Bug'
}

/** Whether an error tells what happened outside of the program. Anything else is a fault of the program itself. */
export const isExpected = (error: unknown): error is Retry | Skip | Stop =>
  error instanceof Retry || error instanceof Skip || error instanceof Stop

/** The exit code of an error of ours. No wrapper may take it for done: nothing says what was done. */
export const bugExitCode = 70 as const

/** The exit code of a command that an error ended. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Stop) return error.exitCode
  return isExpected(error) ? 1 : bugExitCode
}

/**
 * The code of an error that arose outside of the program: the system's, TLS's or a library's. undefined of JavaScript's own
 * errors, which Node throws at wrong arguments, too.
 */
export function outsideCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  // A name had several addresses, and all of them failed.
  return error instanceof AggregateError ? outsideCode(error.errors[0]) : undefined
}

/** The same. No sentence about a file or a certificate explains an error of ours, so that is thrown. */
export function codeFromOutside(error: unknown): string {
  const code = outsideCode(error)
  if (code === undefined) throw error
  return code
}

/** For work that can be done without: its result after an expected error is this. An error of ours is thrown. */
export const instead =
  <T>(value: T) =>
  (error: unknown): T => {
    if (isExpected(error)) return value
    throw error
  }

/** An error's message and hint, and what of the hint can be typed. */
export function wordsOf(error: unknown): Pick<ErrorDetails, 'type'> & {
  readonly message: string
  readonly hint: string | undefined
} {
  if (error instanceof ShopsyncError)
    return { message: error.message, hint: error.hint, type: error.details.type }
  return { message: error instanceof Error ? error.message : String(error), hint: undefined }
}

/** An error as one text: "message. hint". People read it, and the column last_error holds it. */
export function describeError(error: unknown): string {
  const { message, hint } = wordsOf(error)
  return hint === undefined ? message : `${message}. ${hint}`
}

/** An error in the log: its text, and where it was thrown if the program is wrong. */
export function errorFields(error: unknown): { readonly error: string; readonly stack?: string | undefined } {
  const isBug = error instanceof Error && !isExpected(error)
  return { error: describeError(error), stack: isBug ? error.stack : undefined }
}
