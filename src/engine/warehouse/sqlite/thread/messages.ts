/**
 * The messages between the main thread and the writer thread, as plain data. writerclient.ts sends batches;
 * writerthread.ts replies.
 */
import type { CompiledQuery } from 'kysely'
import { Bug, type ErrorDetails, Retry, Skip, Stop } from '../../../base/errors.js'
import type { Applied, Batch, BatchTables } from '../../store/versionbatch.js'
import type { SqlitePage } from '../rows.js'

/** The warehouse: its address, and the file that the main thread has open. */
export interface WriterPlace {
  readonly url: string
  readonly file: string | undefined
}

/** A batch on its way to the thread, by structured clone. */
export interface BatchMessage {
  /** Only sent with the first batch of a resource; the thread keeps it. */
  readonly to: BatchTables | undefined
  readonly batch: Batch<SqlitePage>
}

/** Replies come in the order of the batches. */
export type WriterReply = { readonly applied: Applied } | { readonly failure: Failure }

/** An error as plain data: a structured clone would lose its class. */
interface Failure {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  /** Everything that the error's constructor was given, except its cause. */
  readonly details: ErrorDetails
  /** What the error is if it doesn't pass. A driver's error stays in the thread. */
  readonly cause: Failure | undefined
}

/** Kysely's tree of each query stays here: the thread only needs text and parameters. */
const plain = ({ sql, parameters }: CompiledQuery): CompiledQuery => ({ sql, parameters }) as CompiledQuery

export const batchMessage = (to: BatchTables | undefined, batch: Batch<SqlitePage>): BatchMessage => ({
  to,
  batch: {
    ...batch,
    statements: batch.statements.map(plain),
    ifChanged: batch.ifChanged ? plain(batch.ifChanged) : undefined,
  },
})

export function failureOf(error: Error): Failure {
  const { cause, ...details }: ErrorDetails = 'details' in error ? (error.details as ErrorDetails) : {}
  const { name, message, stack } = error
  return { name, message, stack, details, cause: cause instanceof Skip ? failureOf(cause) : undefined }
}

const classes: Record<string, unknown> = { Retry, Skip, Stop, Bug }

export function errorOf({ name, message, stack, details: own, cause }: Failure): Error {
  const details = { ...own, ...(cause && { cause: errorOf(cause) }) }
  const Known = classes[name] as (new (message: string, details: ErrorDetails) => Error) | undefined
  return Known ? new Known(message, details) : Object.assign(new Error(message), { name, stack })
}
