import type { Value } from '../../model/flatten/batch.js'
import type { Table } from '../../model/table.js'
import { tupleIndex } from './upsert.js'

/** Rows of one table in a dialect's own form `R`. */
export interface Rows<R> {
  /** For each row, the id of the record it belongs to: a root row's own id, a child row's owner. */
  readonly owners: readonly Value[]
  /** The rows of the owners that `keep` accepts. */
  pick(keep: (owner: Value) => boolean): R
}

/** Rows of a dialect that the code doesn't know. */
export interface AnyRows extends Rows<AnyRows> {}

/** The position, in a table's tuples, of the id of the record that a row belongs to. */
export const ownerPlace = (table: Table): number => tupleIndex(table, table.owner ?? table.key[1] ?? '')
