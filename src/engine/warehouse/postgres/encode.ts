import { Bug } from '../../base/errors.js'
import type { Flattened, Tuple, Value } from '../../model/flatten/batch.js'
import { type Table, tupleColumns } from '../../model/table.js'
import { ownerPlace } from '../rows.js'
import { binaryArrays } from './arrays.js'
import { BinaryRows } from './rows.js'

/** The rows of a page, by table name. */
export type PostgresPage = ReadonlyMap<string, BinaryRows>

const inOrder = (a: Value | undefined, b: Value | undefined): number =>
  a === b || a === undefined || b === undefined || a === null || b === null ? 0 : a < b ? -1 : 1

function encodeTable(table: Table, tuples: readonly Tuple[]): BinaryRows {
  const place = ownerPlace(table)
  // Root rows in the order of their keys: two transactions that write the same rows must not wait in a circle.
  const ordered = table.role === 'root' ? tuples.toSorted((a, b) => inOrder(a[place], b[place])) : tuples
  return new BinaryRows(
    ordered.map((tuple) => tuple[place] ?? null),
    binaryArrays(
      ordered,
      tupleColumns(table).map(({ kind }, at) => ({ kind, place: at })),
    ),
  )
}

export function encode(rows: Flattened['rows'], tables: ReadonlyMap<string, Table>): PostgresPage {
  const encoded = [...rows].map(([name, tuples]): [string, BinaryRows] => {
    const table = tables.get(name)
    if (!table) throw new Bug(`No table ${name}`)
    return [name, encodeTable(table, tuples)]
  })
  return new Map(encoded)
}

export const rowsOf = (page: PostgresPage, table: Table): BinaryRows =>
  page.get(table.name) ?? encodeTable(table, [])
