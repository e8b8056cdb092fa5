/**
 * The messages between the main thread and the writer thread, as plain data.
 * client.ts sends batches; main.ts replies.
 */
import type { CompiledQuery } from 'kysely'
import { Bug, type ErrorDetails, Retry, Skip, Stop } from '../../../errors.js'
import { type Applied, type Batch, type BatchTables, PageRows } from '../../batch.js'
import type { SqlitePage } from '../encode.js'
import type { Packed } from './pack.js'

/** A batch on its way to the thread. */
export interface BatchMessage {
  readonly number: number
  /** Sent with the first batch of a resource only: the thread keeps it. */
  readonly to: BatchTables | undefined
  readonly rows: Packed
  readonly statements: readonly Pick<CompiledQuery, 'sql' | 'parameters'>[]
  readonly page: Omit<Batch['page'], 'rows'>
  readonly rest: Omit<Batch, 'page' | 'statements'>
}

export type WriterReply =
  | { readonly number: number; readonly applied: Applied }
  | { readonly number: number; readonly failure: Failure }

/** An error as plain data: a structured clone would lose its class. */
interface Failure {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly details: ErrorDetails
  readonly exitCode?: Stop['exitCode']
  readonly after?: number
}

export function batchMessage(
  number: number,
  to: BatchTables | undefined,
  { page: { rows: _, ...page }, statements, ...rest }: Batch,
  rows: Packed,
): BatchMessage {
  // Kysely's tree of each query stays here: the thread needs text and parameters only.
  const plain = statements.map(({ sql, parameters }) => ({ sql, parameters }))
  return { number, to, rows, statements: plain, page, rest }
}

export const batchOf = ({ rows, statements, page, rest }: BatchMessage): Batch<SqlitePage> => ({
  ...rest,
  page: { ...page, rows: new PageRows<SqlitePage>({ packed: rows }) },
  statements: statements as readonly CompiledQuery[],
})

export function failureOf(error: Error): Failure {
  const details: ErrorDetails = 'details' in error ? (error.details as ErrorDetails) : {}
  const { hint, cause: _, ...rest } = details
  const message =
    hint && error.message.endsWith(`. ${hint}`) ? error.message.slice(0, -hint.length - 2) : error.message
  return {
    name: error.name,
    message,
    stack: error.stack,
    details: { ...rest, ...(hint !== undefined && { hint }) },
    ...(error instanceof Stop && { exitCode: error.exitCode }),
    ...(error instanceof Retry && error.after !== undefined && { after: error.after }),
  }
}

export function errorOf({ name, message, stack, details, exitCode = 1, after }: Failure): Error {
  const given = { ...details, ...(after !== undefined && { after }) }
  if (name === 'Retry') return new Retry(message, given)
  if (name === 'Stop') return new Stop(message, { ...details, exitCode })
  if (name === 'Skip') return new Skip(message, { ...details, reason: 'failed' })
  if (name === 'Bug') return new Bug(message, details)
  return Object.assign(new Error(message), { name, stack })
}
