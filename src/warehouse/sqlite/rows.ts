import type { Tuple, Value } from '../../model/flatten/batch.js'
import type { Rows } from '../rows.js'

/** Returns rows one after the other. */
export interface RowReader {
  /** Adds the next row's values to `into`, booleans as 1 and 0. */
  next(into: unknown[]): void
}

/** Rows of one table whose values are bound to statements one by one. */
export interface SqliteRows extends Rows<SqliteRows> {
  read(): RowReader
}

/** Rows as flatten made them. */
export class TupleRows implements SqliteRows {
  readonly owners: readonly Value[]

  constructor(
    private readonly tuples: readonly Tuple[],
    private readonly place: number,
  ) {
    this.owners = tuples.map((tuple) => tuple[place] ?? null)
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
      this.tuples.filter((_, row) => keep(this.owners[row] ?? null)),
      this.place,
    )
  }
}
