/*
 * The surfaces of a warehouse: what a command that reads is given, what a command that writes is, and what a run is.
 * Nobody who is given one of them can pass the lease by: where a run holds it, each commit looks at it by itself.
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

/** A warehouse that is read. */
export interface ReadingWarehouse extends Reader {
  readonly db: Db
  /** Where it lies, for people; never a password. */
  readonly where: string
  /** How it holds numbers. */
  readonly numbers: NumberForm
  /** Whether the table is there, asked until it is: commands that only read meet warehouses of older versions. */
  has(table: string): Promise<boolean>
  /** Live rows of a root table, or all rows of a child table. */
  countRows(table: Table, tenantId?: Int64): Promise<number>
}

/** A warehouse whose state is written. */
export interface Writer extends ReadingWarehouse {
  /** Writes state in one transaction; returns the number of rows affected. */
  write(statements: readonly CompiledQuery[]): Promise<number>
  /** Runs the work in a transaction, again when the warehouse was away: the work must be safe to repeat. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>
}

/** A warehouse into which a run stores pages. */
export interface PageWriter extends Writer {
  /** The run that holds the lease. */
  readonly runId: string
  /** Encodes a page before it waits for its turn. */
  encode(page: Flattened, key: CursorKey): EncodedPage
  /** Stores one page: rows, children, quarantine and progress, or nothing of it. Safe to repeat. */
  apply(batch: Omit<Batch, 'fence'>): Promise<Applied>
  /** Whether rows of the resource's records move from record to record (sharedrows.ts). */
  hasMovingRows(resource: string): boolean
  /** The pages that are not stored yet. */
  readonly unstored: Pick<Backlog, 'pages' | 'enough' | 'next' | 'free'>
  /** Starts what a long load needs, while its first page is on the way. */
  warm(): void
}
