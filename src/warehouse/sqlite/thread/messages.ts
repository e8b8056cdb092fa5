/** What the writer thread and its owner write to each other. */
import type { CompiledQuery } from 'kysely'
import { Bug, type ErrorDetails, Retry, Skip, Stop } from '../../../errors.js'
import type { Table } from '../../../model/tables.js'
import type { Applied, Batch } from '../../apply.js'
import { type Packed, packedRows, received } from './pack.js'

type PlainStatement = Pick<CompiledQuery, 'sql' | 'parameters'>

/** Which tables a resource's batches go to. */
export interface ResourceTables {
  readonly tables: readonly Table[]
  readonly embedded: readonly Table[]
}

/** A batch on its way to the thread. */
export interface BatchMessage {
  readonly number: number
  /** Sent with the first batch of a resource; the thread remembers. */
  readonly plan: ResourceTables | undefined
  readonly rows: Packed
  readonly statements: readonly PlainStatement[]
  readonly rest: Omit<Batch, 'flattened' | 'statements'>
  readonly flattened: Omit<Batch['flattened'], 'rows'>
}

export type WriterReply =
  | { readonly number: number; readonly applied: Applied }
  | { readonly number: number; readonly failure: Failure }

/** An error as plain data: a clone would lose its class. */
interface Failure {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly details: ErrorDetails
  readonly exitCode?: Stop['exitCode']
  readonly after?: number
  readonly reason?: Skip['reason']
}

export function batchMessage(number: number, plan: ResourceTables | undefined, batch: Batch): BatchMessage {
  const { flattened, statements, ...rest } = batch
  const { rows, ...others } = flattened
  return {
    number,
    plan,
    rows: packedRows(rows),
    // What Kysely keeps besides, the query's tree, is of no use any more.
    statements: statements.map(({ sql, parameters }) => ({ sql, parameters })),
    rest,
    flattened: others,
  }
}

export const batchOf = ({ rows, statements, rest, flattened }: BatchMessage): Batch => ({
  ...rest,
  flattened: { ...flattened, rows: received(rows) },
  statements: statements as readonly CompiledQuery[],
})

export function failureOf(error: Error): Failure {
  const details: ErrorDetails = 'details' in error ? (error.details as ErrorDetails) : {}
  const { cause: _, ...rest } = details
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    details: rest,
    ...(error instanceof Stop && { exitCode: error.exitCode }),
    ...(error instanceof Retry && error.after !== undefined && { after: error.after }),
    ...(error instanceof Skip && { reason: error.reason }),
  }
}

export function errorOf({ name, message, stack, details, ...more }: Failure): Error {
  const { after, exitCode = 1, reason = 'failed' } = more
  if (name === 'Retry') return new Retry(message, { ...details, ...(after !== undefined && { after }) })
  if (name === 'Stop') return new Stop(message, { ...details, exitCode })
  if (name === 'Skip') return new Skip(message, { ...details, reason })
  if (name === 'Bug') return new Bug(message, details)
  return Object.assign(new Error(message), { name, stack })
}
