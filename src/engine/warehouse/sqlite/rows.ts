import type { Tuple, Value } from '../../model/flatten/batch.js'
import type { Rows } from '../rows.js'

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
