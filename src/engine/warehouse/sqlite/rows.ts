import type { FlatPage, Tuple, Value } from '../../model/flatten/batch.js'
import type { Table } from '../../model/table.js'
import { ownerPlace } from '../store/upsert.js'
import type { Rows } from '../transaction.js'

/** The rows of a page, and whether the writer thread stores them. */
export interface SqlitePage {
  readonly tuples: FlatPage['rows']
  readonly isOffloaded: boolean
}

/** The thread stores pages of at least `threadFrom` rows: for smaller ones, getting there takes longer than writing. */
export function encode(tuples: FlatPage['rows'], threadFrom: number): SqlitePage {
  const rows = [...tuples.values()].reduce((sum, { length }) => sum + length, 0)
  return { tuples, isOffloaded: rows >= threadFrom }
}

export const rowsOf = ({ tuples }: SqlitePage, table: Table): TupleRows =>
  new TupleRows(tuples.get(table.name) ?? [], ownerPlace(table))

/** Rows as flatten made them: their values are bound to statements one by one. */
export class TupleRows implements Rows<TupleRows> {
  readonly owners: readonly Value[]

  constructor(
    readonly tuples: readonly Tuple[],
    private readonly place: number,
  ) {
    this.owners = tuples.map((tuple) => tuple[place] ?? null)
  }

  /** Adds the values of a row to `into`, booleans as 1 and 0. */
  read(row: number, into: unknown[]): void {
    for (const value of this.tuples[row] ?? []) into.push(value === true ? 1 : value === false ? 0 : value)
  }

  pick(keep: (owner: Value) => boolean): TupleRows {
    return new TupleRows(
      this.tuples.filter((_, row) => keep(this.owners[row] ?? null)),
      this.place,
    )
  }
}
