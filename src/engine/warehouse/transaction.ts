/* One transaction on one connection, as the dialects' sessions implement it. */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Tuple, Value } from '../model/flatten/batch.js'
import type { Table } from '../model/table.js'
import type { BatchStamp, Version } from './store/versionbatch.js'

/** Runs work in a transaction of the run that holds the lease. */
export type Transact = <T>(work: (session: Session) => Promise<T>) => Promise<T>

/** How a change of stored rows waits for those who hold their table: not for long, since its lists wait with it. */
export const briefly =
  (
    warehouse: {
      readonly dialect: { readonly catalog: { waitBriefly(session: Session): Promise<void> } }
      readonly transaction: Transact
    },
    signal?: AbortSignal,
  ): Transact =>
  (work) => {
    signal?.throwIfAborted()
    return warehouse.transaction(async (session) => {
      await warehouse.dialect.catalog.waitBriefly(session)
      return work(session)
    })
  }

/** A value in a statement, or a list of ids or texts. */
export type Parameter = Int64 | string | readonly (Int64 | string)[]

/** Rows of one table in a dialect's own form `R`. */
export interface Rows<R> {
  /** For each row, the id of the record it belongs to: a root row's own id, a child row's owner. */
  readonly owners: readonly Value[]
  /** The rows of the owners that `keep` accepts. */
  pick(keep: (owner: Value) => boolean): R
}

/** Rows of a dialect that the code doesn't know. */
export interface AnyRows extends Rows<AnyRows> {}

/** One transaction on one connection: rows and state are written through it. */
export interface Session<R extends Rows<R> = AnyRows> {
  /** Runs a statement that Kysely compiled. */
  run<T>(query: CompiledQuery<T>): Promise<{ rows: T[]; affected: number }>
  /** Runs a statement with parameters $1, $2, … Rows are arrays of values. */
  ask<T extends unknown[]>(
    text: string,
    parameters: readonly Parameter[],
  ): Promise<{ rows: T[]; affected: number }>
  /** The stored versions of root rows; `locked`: against other writers until the transaction ends. */
  versions(
    table: Table,
    tenantId: Int64,
    ids: readonly Int64[],
    how?: 'locked' | 'unlocked',
  ): Promise<Map<Int64, Version>>
  /**
   * Writes rows if the guard of upsert.ts allows it; with `differing`, only rows whose content differs from the stored
   * one. Returns the number of rows that changed.
   */
  upsert(table: Table, rows: R, shared: BatchStamp, which: 'all' | 'differing'): Promise<number>
  /**
   * Writes rows that are assumed to be new. If a key exists, it may fail, and `isTaken` recognizes the error. Returns
   * the number of rows.
   */
  insert(table: Table, rows: R, shared: BatchStamp): Promise<number>
  /**
   * Writes rows as they are, with a value for each of the table's columns, including stamps. Skips rows whose keys
   * exist. Only copying a warehouse writes this way; everything else that writes rows goes by their versions.
   */
  load(table: Table, tuples: readonly Tuple[]): Promise<void>
  /** Updates the stamp of root rows that a response showed unchanged. */
  confirm(table: Table, ids: readonly Int64[], shared: BatchStamp): Promise<void>
  /** How many of the rows an upsert would leave as they are: stored exactly like this, or in a version that it keeps. */
  countSettled(table: Table, rows: R, shared: BatchStamp): Promise<number>
  /** Whether the stored child rows of these owners are exactly these. */
  childrenMatch(table: Table, owners: readonly Int64[], rows: R, shared: BatchStamp): Promise<boolean>
  countOwned(table: Table, tenantId: Int64, owners: readonly Int64[]): Promise<number>
  /** Removes quarantine entries of these records that were last seen before the batch's request. */
  clearQuarantine(resource: string, recordIds: readonly string[], shared: BatchStamp): Promise<void>
  /** Removes the child rows of these owners whose keys aren't among the rows. Returns how many. */
  prune(table: Table, tenantId: Int64, owners: readonly Int64[], rows: R): Promise<number>
}
