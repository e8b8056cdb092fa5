import { Bug } from '../../errors.js'
import type { Flattened, Tuple, Value } from '../../model/flatten/batch.js'
import { type Table, tupleColumns } from '../../model/tables.js'
import { ownerPlace, type Rows, TupleRows, tupleRows } from '../rows.js'
import { binaryArrays } from './encode.js'

/** Bytes in front of an array's elements, and where their number stands. */
const header = 20
const lengthAt = 12

/** The elements of an array whose place is marked. */
function pickElements(array: Buffer, kept: readonly boolean[], count: number): Buffer {
  const picked = Buffer.allocUnsafe(array.length)
  let [from, to] = [header, array.copy(picked, 0, 0, header)]
  for (const keep of kept) {
    const end = from + 4 + Math.max(0, array.readInt32BE(from))
    if (keep) to += array.copy(picked, to, from, end)
    from = end
  }
  picked.writeInt32BE(count, lengthAt)
  return picked.subarray(0, to)
}

/** Rows of one table as the server takes them. */
export class BinaryRows implements Rows {
  readonly owners: readonly Value[]
  /** One array a column, in the order of `tupleColumns`. */
  readonly columns: readonly Buffer[]

  constructor(owners: readonly Value[], columns: readonly Buffer[]) {
    this.owners = owners
    this.columns = columns
  }

  pick(keep: (owner: Value) => boolean): Rows {
    const kept = this.owners.map(keep)
    const owners = this.owners.filter((_, i) => kept[i])
    if (owners.length === this.owners.length) return this
    return new BinaryRows(
      owners,
      owners.length === 0 ? [] : this.columns.map((column) => pickElements(column, kept, owners.length)),
    )
  }
}

const inOrder = (a: Value | undefined, b: Value | undefined): number =>
  a === b || a === undefined || b === undefined || a === null || b === null ? 0 : a < b ? -1 : 1

function encode(table: Table, tuples: readonly Tuple[]): BinaryRows {
  const place = ownerPlace(table)
  // Root rows in the order of their keys: two transactions that meet in one table must not wait for each other.
  const ordered = table.role === 'root' ? tuples.toSorted((a, b) => inOrder(a[place], b[place])) : tuples
  const columns = tupleColumns(table).map(({ kind }, at) => ({ kind, place: at }))
  return new BinaryRows(
    ordered.map((tuple) => tuple[place] ?? null),
    binaryArrays(ordered, columns),
  )
}

const ready = new WeakMap<Flattened['rows'], ReadonlyMap<string, BinaryRows> | 'stored'>()

/**
 * Encodes a page as soon as it is flattened, and drops its tuples: some hundred thousand small things that would lie in
 * the heap until the page's turn comes, and that the garbage collector would copy twice until then.
 */
export function encodeEarly({ rows }: Flattened, tables: ReadonlyMap<string, Table>): void {
  const encoded = new Map<string, BinaryRows>()
  for (const [name, tuples] of rows) {
    const table = tables.get(name)
    if (!table) throw new Bug(`No table ${name}`)
    encoded.set(name, encode(table, tuples))
  }
  ready.set(rows, encoded)
  rows.clear()
}

/** The page is stored: what is made of it again would be lost without a word. */
export function forget({ rows }: Flattened): void {
  if (ready.has(rows)) ready.set(rows, 'stored')
}

export function binaryRows(table: Table, flattened: Flattened): Rows {
  const encoded = ready.get(flattened.rows)
  if (encoded === 'stored') throw new Bug('A page that was encoded early can be stored once')
  return encoded?.get(table.name) ?? tupleRows(table, flattened)
}

/** The columns of rows at some places of their tuples, or at all, as array parameters. */
export function columnsOf(table: Table, rows: Rows, places?: readonly number[]): readonly Buffer[] {
  if (rows instanceof TupleRows) return columnsOf(table, encode(table, rows.tuples), places)
  if (!(rows instanceof BinaryRows)) throw new Bug('Postgres takes rows as tuples or as arrays')
  if (rows.owners.length === 0) {
    const all = binaryArrays(
      [],
      tupleColumns(table).map(({ kind }, place) => ({ kind, place })),
    )
    return places ? places.map((place) => all[place] as Buffer) : all
  }
  return places ? places.map((place) => rows.columns[place] as Buffer) : rows.columns
}
