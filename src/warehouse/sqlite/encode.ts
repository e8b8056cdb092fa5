import type { Flattened } from '../../model/flatten/batch.js'
import type { Table } from '../../model/tables.js'
import { ownerPlace } from '../rows.js'
import { type SqliteRows, TupleRows } from './rows.js'
import { type Packed, pack, recycle } from './thread/pack.js'
import { packedRows } from './thread/unpack.js'

/** The rows of a page: packed for the writer thread, or tuples that this thread writes. */
export type SqlitePage = { readonly packed: Packed } | { readonly tuples: Flattened['rows'] }

/** Packs a page of at least `threadFrom` rows. For smaller ones the way to the thread takes longer than the writing. */
export function encode(tuples: Flattened['rows'], threadFrom: number): SqlitePage {
  const rows = [...tuples.values()].reduce((sum, { length }) => sum + length, 0)
  return rows >= threadFrom ? { packed: pack(tuples) } : { tuples }
}

export function rowsOf(page: SqlitePage, table: Table): SqliteRows {
  const place = ownerPlace(table)
  if ('tuples' in page) return new TupleRows(page.tuples.get(table.name) ?? [], place)
  return packedRows(page.packed, table.name, place) ?? new TupleRows([], place)
}

export function release(page: SqlitePage): void {
  if ('packed' in page) recycle(page.packed)
}
