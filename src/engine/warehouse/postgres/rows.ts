import { Bug } from '../../base/errors.js'
import type { FlatPage, Tuple, Value } from '../../model/flatten/batch.js'
import { type Table, tupleColumns } from '../../model/table.js'
import { ownerPlace } from '../store/upsert.js'
import type { Rows } from '../transaction.js'
import { binaryArrays } from './arrays.js'

const inOrder = (a: Value | undefined, b: Value | undefined): number =>
  a === b || a === undefined || b === undefined || a === null || b === null ? 0 : a < b ? -1 : 1

function encodeTable(table: Table, tuples: readonly Tuple[]): BinaryRows {
  const place = ownerPlace(table)
  // Root rows in the order of their keys: two transactions that write the same rows must not deadlock.
  const ordered = table.role === 'root' ? tuples.toSorted((a, b) => inOrder(a[place], b[place])) : tuples
  return new BinaryRows(
    ordered.map((tuple) => tuple[place] ?? null),
    binaryArrays(
      ordered,
      tupleColumns(table).map(({ kind }) => kind),
    ),
  )
}

export function encode(
  rows: FlatPage['rows'],
  tables: ReadonlyMap<string, Table>,
): ReadonlyMap<string, BinaryRows> {
  const encoded = [...rows].map(([name, tuples]): [string, BinaryRows] => {
    const table = tables.get(name)
    if (!table) throw new Bug(`No table ${name}`)
    return [name, encodeTable(table, tuples)]
  })
  return new Map(encoded)
}

export const rowsOf = (page: ReadonlyMap<string, BinaryRows>, table: Table): BinaryRows =>
  page.get(table.name) ?? encodeTable(table, [])

/** An array in binary form: the length of its header, and where in it the number of elements is. */
const headerLength = 20
const countAt = 12

/** The elements of an array whose positions are marked. */
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

/** Rows of one table as the server takes them: one array per column, in the order of `tupleColumns`. */
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
