/**
 * Errors are classed by what the loop does next. Nobody else subclasses Error; loops test the class, never a message.
 * A message says what was found, what was expected and what to type; it carries keys and sizes, never a secret or a
 * customer's data.
 */
export interface ErrorDetails {
  readonly tenantId?: number | bigint
  readonly resource?: string
  readonly status?: number
  readonly requestId?: string
  /** What to type, or where to look. */
  readonly hint?: string
  readonly cause?: unknown
}

abstract class ShopsyncError extends Error {
  readonly details: ErrorDetails
  constructor(message: string, details: ErrorDetails = {}) {
    super(details.hint ? `${message}. ${details.hint}` : message, { cause: details.cause })
    this.details = details
  }
}

/** Try the same thing again, after `after` milliseconds when the source said so. */
export class Retry extends ShopsyncError {
  override readonly name = 'Retry'
  readonly after: number | undefined
  constructor(message: string, details: ErrorDetails & { after?: number } = {}) {
    super(message, details)
    this.after = details.after
  }
}

/** This cursor cannot go on; the others can. */
export class Skip extends ShopsyncError {
  override readonly name = 'Skip'
  /** `absent`: 404; `refused`: 403, 422; `failed`: retries are used up; `suspicious`: the answer is not believed. */
  readonly reason: 'absent' | 'refused' | 'failed' | 'suspicious'
  constructor(message: string, details: ErrorDetails & { reason: Skip['reason'] }) {
    super(message, details)
    this.reason = details.reason
  }
}

/** The run cannot go on. `exitCode` is the contract's (2 usage, 3 could not start, 4 locked, 1 failed on the way). */
export class Stop extends ShopsyncError {
  override readonly name = 'Stop'
  readonly exitCode: 1 | 2 | 3 | 4
  constructor(message: string, details: ErrorDetails & { exitCode: 1 | 2 | 3 | 4 }) {
    super(message, details)
    this.exitCode = details.exitCode
  }
}

/** We are wrong. */
export class Bug extends ShopsyncError {
  override readonly name = 'Bug'
}

/** What an error says, as people read it and the column last_error holds it. */
export const describeError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
