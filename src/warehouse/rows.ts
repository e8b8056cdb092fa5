import type { Flattened, Tuple, Value } from '../model/flatten/batch.js'
import type { Table } from '../model/tables.js'
import { tupleIndex } from './upsert.js'

/** Rows of one table on their way into it, in whatever form the dialect keeps them until their turn comes. */
export interface Rows {
  /** Of each row the id of the record that it belongs to: the key of a root row, the owner of a child. */
  readonly owners: readonly Value[]
  /** Those of some owners, in the same form. */
  pick(keep: (owner: Value) => boolean): Rows
}

/** Gives rows one after the other. */
export interface RowReader {
  /** Adds the next row's values to these, booleans as 1 and 0. */
  next(into: unknown[]): void
}

/** Place, in a table's tuples, of the record that a row belongs to. */
export const ownerPlace = (table: Table): number => tupleIndex(table, table.owner ?? table.key[1] ?? '')

/** Rows as flatten made them. */
export class TupleRows implements Rows {
  readonly tuples: readonly Tuple[]
  #owners: readonly Value[] | undefined

  constructor(
    tuples: readonly Tuple[],
    private readonly place: number,
  ) {
    this.tuples = tuples
  }

  get owners(): readonly Value[] {
    this.#owners ??= this.tuples.map((tuple) => tuple[this.place] ?? null)
    return this.#owners
  }

  read(): RowReader {
    let row = 0
    return {
      next: (into) => {
        for (const value of this.tuples[row++] ?? [])
          into.push(value === true ? 1 : value === false ? 0 : value)
      },
    }
  }

  pick(keep: (owner: Value) => boolean): TupleRows {
    return new TupleRows(
      this.tuples.filter((tuple) => keep(tuple[this.place] ?? null)),
      this.place,
    )
  }
}

export const tupleRows = (table: Table, flattened: Flattened): TupleRows =>
  new TupleRows(flattened.rows.get(table.name) ?? [], ownerPlace(table))
