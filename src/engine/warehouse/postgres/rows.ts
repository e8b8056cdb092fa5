import type { Value } from '../../model/flatten/batch.js'
import type { Rows } from '../rows.js'

/** An array in binary form: the length of its header, and the place of the number of elements in it. */
const headerLength = 20
const countAt = 12

/** The elements of an array whose place is marked. */
function pickElements(array: Buffer, kept: readonly boolean[], count: number): Buffer {
  const picked = Buffer.allocUnsafe(array.length)
  let [from, to] = [headerLength, array.copy(picked, 0, 0, headerLength)]
  for (const keep of kept) {
    const end = from + 4 + Math.max(0, array.readInt32BE(from))
    if (keep) to += array.copy(picked, to, from, end)
    from = end
  }
  picked.writeInt32BE(count, countAt)
  return picked.subarray(0, to)
}

/** Rows of one table as the server takes them: one array a column, in the order of `tupleColumns`. */
export class BinaryRows implements Rows<BinaryRows> {
  constructor(
    readonly owners: readonly Value[],
    readonly columns: readonly Buffer[],
  ) {}

  pick(keep: (owner: Value) => boolean): BinaryRows {
    const kept = this.owners.map(keep)
    const owners = this.owners.filter((_, i) => kept[i])
    if (owners.length === this.owners.length) return this
    return new BinaryRows(
      owners,
      this.columns.map((column) => pickElements(column, kept, owners.length)),
    )
  }
}
