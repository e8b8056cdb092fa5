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
  /** Sent with the first batch of a resource only: the thread keeps it. */
  readonly to: BatchTables | undefined
  readonly rows: Packed
  readonly statements: readonly Pick<CompiledQuery, 'sql' | 'parameters'>[]
  readonly page: Omit<Batch['page'], 'rows'>
  readonly rest: Omit<Batch, 'page' | 'statements'>
}

/** Replies come in the order of the batches. */
export type WriterReply = { readonly applied: Applied } | { readonly failure: Failure }

/** An error as plain data: a structured clone would lose its class. */
interface Failure {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  /** All that the error's constructor was given, but its cause. */
  readonly details: ErrorDetails
}

export function batchMessage(
  to: BatchTables | undefined,
  { page: { rows: _, ...page }, statements, ...rest }: Batch,
  rows: Packed,
): BatchMessage {
  // Kysely's tree of each query stays here: the thread needs text and parameters only.
  const plain = statements.map(({ sql, parameters }) => ({ sql, parameters }))
  return { to, rows, statements: plain, page, rest }
}

export const batchOf = ({ rows, statements, page, rest }: BatchMessage): Batch<SqlitePage> => ({
  ...rest,
  page: { ...page, rows: new PageRows<SqlitePage>({ packed: rows }) },
  statements: statements as readonly CompiledQuery[],
})

export function failureOf(error: Error): Failure {
  const { cause: _, ...details }: ErrorDetails = 'details' in error ? (error.details as ErrorDetails) : {}
  const { name, message, stack } = error
  return { name, message, stack, details }
}

const classes: Record<string, unknown> = { Retry, Skip, Stop, Bug }

export function errorOf({ name, message, stack, details }: Failure): Error {
  const Known = classes[name] as (new (message: string, details: ErrorDetails) => Error) | undefined
  return Known ? new Known(message, details) : Object.assign(new Error(message), { name, stack })
}
