import type { Flattened } from '../../model/flatten/batch.js'
import type { Table } from '../../model/table.js'
import { ownerPlace } from '../rows.js'
import { TupleRows } from './rows.js'

/** The rows of a page, and whether the writer thread stores them. */
export interface SqlitePage {
  readonly tuples: Flattened['rows']
  readonly isOffloaded: boolean
}

/** The thread stores pages of at least `threadFrom` rows: for smaller ones the way there takes longer than the writing. */
export function encode(tuples: Flattened['rows'], threadFrom: number): SqlitePage {
  const rows = [...tuples.values()].reduce((sum, { length }) => sum + length, 0)
  return { tuples, isOffloaded: rows >= threadFrom }
}

export const rowsOf = ({ tuples }: SqlitePage, table: Table): TupleRows =>
  new TupleRows(tuples.get(table.name) ?? [], ownerPlace(table))
