/*
 * What others made or set on a table that keeps its rows from being stored as they were sent: a missing right, a trigger,
 * row-level security, a view in the table's place. The databases describe it (postgres/interference.ts,
 * sqlite/interference.ts); errors and `shopsync check` name it.
 */
import { Skip, Stop } from '../base/errors.js'
import { plural } from '../base/format.js'
import type { Table } from '../model/table.js'
import type { FindInterference, Interference } from './dialect.js'
import type { Rows } from './rows.js'
import type { Session } from './transaction.js'
import type { Batch } from './versionbatch.js'

/**
 * The same error, with what was found on its table: a database rarely names the trigger. Only asked when something is
 * off.
 */
export async function explained(error: unknown, find: FindInterference): Promise<unknown> {
  if (!(error instanceof Skip || error instanceof Stop) || error.details.table === undefined) return error
  const found = await find([error.details.table]).catch(() => [])
  if (found.length === 0) return error
  const message = `${error.message}. Found on ${error.details.table}: ${found.map(({ problem }) => problem).join(', ')}`
  const hint = [...new Set([error.hint ?? '', ...found.map((each) => each.hint)])].filter(Boolean).join('. ')
  return error instanceof Skip
    ? new Skip(message, { ...error.details, reason: error.reason, hint })
    : new Stop(message, { ...error.details, exitCode: error.exitCode, hint })
}

/** Rows that the database left out, or holds differently than they were sent, without an error. */
export const notStored = (where: string, table: string, { stored, sent }: StoredCounts): Skip =>
  new Skip(
    `The warehouse ${where} changed or left out ${plural(sent - stored, 'row')} of ${table}, of ${sent} that were sent, without an error`,
    {
      reason: 'failed',
      code: 'warehouse',
      table,
      hint: 'Expected the database to store rows as they are sent: drop what was added to the table',
    },
  )

interface StoredCounts {
  readonly stored: number
  readonly sent: number
}

/** Reads back what a batch wrote to a table that something interferes with. */
export async function checkStored<R extends Rows<R>>(
  { where, session }: { readonly where: string; readonly session: Session<R> },
  { tenantId, readBack }: Batch,
  table: Table,
  rows: R,
): Promise<void> {
  const sent = rows.owners.length
  if (sent === 0 || !readBack?.has(table.name)) return
  const stored = await session.countAlike(table, tenantId, rows)
  if (stored < sent) throw notStored(where, table.name, { stored, sent })
}

/** The tables whose rows are read back. They are looked for once under each lease. */
export class InterferedTables {
  #names: Promise<ReadonlySet<string>> | undefined

  constructor(private readonly find: () => Promise<readonly Interference[]>) {}

  ask(): Promise<ReadonlySet<string>> {
    this.#names ??= this.find().then(
      (found) => new Set(found.map(({ table }) => table)),
      (error) => {
        this.forget()
        throw error
      },
    )
    return this.#names
  }

  forget(): void {
    this.#names = undefined
  }
}
