import type { CompiledQuery, Kysely } from 'kysely'
import type { ResourceTables } from '../../schema/index.js'
import type { Int64, Kind } from '../../schema/resource.js'
import type { Clock } from '../clock.js'
import type { Flattened } from '../model/flatten/batch.js'
import type { StateRows } from '../model/state.js'
import type { Table } from '../model/tables.js'
import type { Applied, Batch } from './apply.js'
import type { Rows } from './rows.js'

/** What root tables have in common, for code that is told which one by a variable. */
interface AnyRoot {
  readonly tenant_id: Int64
  readonly id: Int64
  /** Of tables that have no ids. */
  readonly name: string
  readonly updated_at: string
  readonly _synced_at: string
  readonly _deleted_at: string | null
}

/** Every table of the warehouse, as Kysely sees it. */
export interface Database extends ResourceTables, StateRows {
  'any root': AnyRoot
}

/** Any resource's own table, by name. */
export const rootTable = (table: { readonly name: string }): 'any root' => table.name as 'any root'

/** Of a stored root row: which version it is, and whether it is a tombstone. Canonical timestamps. */
export interface Version {
  readonly updatedAt: string
  readonly syncedAt: string
  readonly deletedAt: string | null
}

/** What all rows of one batch share. */
export interface BatchStamp {
  readonly tenantId: Int64
  readonly syncedAt: string
}

/** Rows and state go through a session: one transaction on one connection. */
export interface Session {
  /** Runs a statement that Kysely compiled. */
  run<R>(query: CompiledQuery<R>): Promise<{ rows: R[]; affected: number }>
  /** The stored versions of root rows, locked against other writers until the transaction ends. */
  versions(table: Table, tenantId: Int64, ids: readonly Int64[]): Promise<Map<Int64, Version>>
  /**
   * Writes rows where the guard of bulk.ts lets them, and with `differing` only those whose content differs. Returns
   * the rows really written.
   */
  upsert(table: Table, rows: Rows, shared: BatchStamp, differing: boolean): Promise<number>
  /** Root rows that were seen again unchanged: only their stamp moves. */
  confirm(table: Table, ids: readonly Int64[], shared: BatchStamp): Promise<void>
  /** Whether the child rows of these owners are exactly these: asked for what was seen before, and nearly always so. */
  childrenMatch(table: Table, tenantId: Int64, owners: readonly Int64[], rows: Rows): Promise<boolean>
  /** Forgets what was in quarantine for these records, and was seen last before the batch's request. */
  clearQuarantine(resource: string, recordIds: readonly string[], shared: BatchStamp): Promise<void>
  /** Removes the child rows of these owners whose keys are not among the rows. Returns how many. */
  prune(table: Table, tenantId: Int64, owners: readonly Int64[], rows: Rows): Promise<number>
}

/** A live column, as the database describes it. */
export interface LiveColumn {
  readonly name: string
  readonly type: string
}

/**
 * All that differs between warehouses: facts and methods, implemented once a database. Shared code asks these, and
 * never which database it is.
 */
export interface Dialect {
  readonly db: Kysely<Database>
  /** Where the warehouse lies, for people; never a password. */
  readonly where: string
  /** Pages that may be on their way into it before no more are asked for: enough to keep it busy. */
  readonly backlog: number
  /** By how many percent the heap may grow before all of it is collected: memory is worth time where two threads fill it. */
  readonly heapGrowth: number
  /** SQL type of a kind (contract: warehouse tables). */
  columnType(kind: Kind): string
  /** Runs the work in one transaction; rolls back when it throws. The work must not wait for the network. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** Told that much will come soon. */
  warm(): void
  /** Told of what will be applied later: it may turn the rows into what it needs then. */
  foresee(flattened: Flattened, tables: ReadonlyMap<string, Table>): void
  /** Told that it is applied: what was kept for it may go. */
  applied(flattened: Flattened): void
  /** A table's rows of a page, foreseen or not. */
  rows(table: Table, flattened: Flattened): Rows
  /**
   * Applies a batch in another thread, so that this one can go on reading and parsing; undefined where that does not
   * pay, or cannot be: the caller then applies it itself.
   */
  elsewhere?(tables: readonly Table[], embedded: readonly Table[], batch: Batch): Promise<Applied> | undefined
  /** Makes what the tables live in (a schema), and keeps other migrations out until the transaction ends. */
  prepare(session: Session): Promise<void>
  /** Live tables with their columns. */
  liveTables(): Promise<Map<string, LiveColumn[]>>
  liveIndexes(): Promise<Set<string>>
  /** Statements that write the dictionary's texts into the database, where it can hold them. */
  comments(table: Table): CompiledQuery[]
  /** The statement that reads the lease's token so that nobody can take it before this transaction ends. */
  fence(): CompiledQuery<{ token: Int64 | null }>
  /** The time by which leases expire: the database's where several machines share it. Canonical timestamp. */
  now(session: Session, clock: Clock): Promise<string>
  /** A driver's error in our classes: what the loop does next. Errors that are ours already pass through. */
  classify(error: unknown): Error
  /** After a run: statistics for the query planner. */
  optimize(tables: readonly Table[]): Promise<void>
  close(): Promise<void>
}

/** A value of a JSON column: databases that have a JSON type give it parsed, others as text. */
export const readJson = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value)

/** Exact integers read as number while that is safe, as bigint beyond (schema/resource.ts, Int64). */
export const exact = (value: bigint): Int64 =>
  value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value
