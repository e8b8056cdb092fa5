/*
 * The interfaces of a warehouse: for commands that read, for commands that write, and for runs. No code that has one of
 * these can bypass the lease: if a run holds it, each commit checks it.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { NumberForm } from '../base/numbertoken.js'
import type { Flattened } from '../model/flatten/batch.js'
import type { Table } from '../model/table.js'
import type { Backlog } from './backlog.js'
import type { CursorKey, Reader } from './cursors.js'
import type { Db } from './database.js'
import type { Session } from './transaction.js'
import type { Applied, Batch, EncodedPage } from './versionbatch.js'

export interface ReadingWarehouse extends Reader {
  readonly db: Db
  /** Where it is, for people. Never includes a password. */
  readonly where: string
  /** How it holds numbers. */
  readonly numbers: NumberForm
  /** Whether the table exists; asks until it does. Commands that only read may meet warehouses of older versions. */
  has(table: string): Promise<boolean>
  /** What others made or set on its tables. */
  readonly interfered: {
    /** The tables on which something was found: what is written there has to be read back. */
    ask(): Promise<ReadonlySet<string>>
    /** Throws Skip if rows of one of the tables may be hidden: they would count as missing, or as equal. */
    refuseHidden(tables: readonly string[]): Promise<void>
  }
  /** Live rows of a root table, or all rows of a child table. */
  countRows(table: Table, tenantId?: Int64): Promise<number>
}

/** A warehouse whose state is written. */
export interface Writer extends ReadingWarehouse {
  /** Writes state in one transaction. Returns the number of rows affected. */
  write(statements: readonly CompiledQuery[]): Promise<number>
  /** Runs the work in a transaction, and repeats it if the warehouse was away: the work must be safe to repeat. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>
}

/** A warehouse into which a run stores pages. */
export interface PageWriter extends Writer {
  /** The run that holds the lease. */
  readonly runId: string
  /** Encodes a page before it waits for its turn. */
  encode(page: Flattened, key: CursorKey): EncodedPage
  /** Stores one page atomically: rows, children, quarantine and progress. Safe to repeat. */
  apply(batch: Omit<Batch, 'fence'>): Promise<Applied>
  /** Whether rows of the resource's records move from record to record (sharedrows.ts). */
  hasMovingRows(resource: string): boolean
  /** The pages that aren't stored yet. */
  readonly unstored: Pick<Backlog, 'pages' | 'enough' | 'next' | 'free'>
  /** Starts what a long load needs, while its first page is on the way. */
  warm(): void
}
