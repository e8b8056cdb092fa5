/**
 * Reads packed tables: each value is made when it is bound to a statement.
 * Used by the writer thread's session, through sqlite/encode.ts.
 */
import { Bug } from '../../../errors.js'
import type { Value } from '../../../model/flatten/batch.js'
import type { RowReader, SqliteRows } from '../rows.js'
import { kind, type Packed, type PackedTable, sumOf, views } from './pack.js'

/** The cells of one table in the memory of its page. */
class Cells {
  readonly rows: number
  readonly width: number
  readonly numbers: Float64Array
  readonly kinds: Uint8Array
  readonly narrow: string
  readonly wide: string

  constructor(packed: Packed, table: PackedTable) {
    const all = views(packed.memory, sumOf(packed.tables))
    const from = sumOf(packed.tables.slice(0, packed.tables.indexOf(table)))
    this.rows = table.rows
    this.width = table.width
    this.numbers = all.numbers.subarray(from.cells, from.cells + table.cells)
    this.kinds = all.kinds.subarray(from.cells, from.cells + table.cells)
    this.narrow = all.narrow.toString('latin1', from.narrow, from.narrow + table.narrow)
    this.wide = all.wide.toString('utf16le', from.wide * 2, (from.wide + table.wide) * 2)
  }
}

class PackedReader implements RowReader {
  #row = 0
  #narrow = 0
  #wide = 0

  constructor(
    private readonly cells: Cells,
    private readonly kept: readonly boolean[] | undefined,
  ) {}

  next(into: unknown[]): void {
    // Rows that are not kept are read too: where the next row's texts begin is known only behind them.
    while (this.kept?.[this.#row] === false) this.#read([])
    this.#read(into)
  }

  #read(into: unknown[]): void {
    const { numbers, kinds, narrow, wide, width, rows } = this.cells
    if (this.#row >= rows) throw new Bug('There are no more rows')
    let at = this.#row++ * width
    for (const end = at + width; at < end; at++) {
      const number = numbers[at] ?? 0
      switch (kinds[at]) {
        case kind.number:
          into.push(number)
          break
        case kind.narrow:
          into.push(narrow.slice(this.#narrow, this.#narrow + number))
          this.#narrow += number
          break
        case kind.wide:
          into.push(wide.slice(this.#wide, this.#wide + number))
          this.#wide += number
          break
        case kind.bigint:
          into.push(BigInt(narrow.slice(this.#narrow, this.#narrow + number)))
          this.#narrow += number
          break
        case kind.true:
          into.push(1)
          break
        case kind.false:
          into.push(0)
          break
        default:
          into.push(null)
      }
    }
  }
}

/** Rows of one packed table; `kept` tells which of them belong to it after `pick`. */
class PackedRows implements SqliteRows {
  #owners: readonly Value[] | undefined

  constructor(
    private readonly cells: Cells,
    private readonly place: number,
    private readonly kept?: readonly boolean[],
  ) {}

  get owners(): readonly Value[] {
    this.#owners ??= this.#everyOwner().filter((_, row) => this.kept?.[row] ?? true)
    return this.#owners
  }

  pick(keep: (owner: Value) => boolean): PackedRows {
    const every = this.#everyOwner()
    const kept = every.map((owner, row) => (this.kept?.[row] ?? true) && keep(owner))
    return new PackedRows(this.cells, this.place, kept)
  }

  read(): RowReader {
    return new PackedReader(this.cells, this.kept)
  }

  /** The owners of all rows, kept or not. */
  #everyOwner(): Value[] {
    const { rows, width, kinds, numbers } = this.cells
    const places = Array.from({ length: rows }, (_, row) => row * width + this.place)
    if (places.every((at) => kinds[at] === kind.number)) return places.map((at) => numbers[at] ?? null)
    const reader = new PackedReader(this.cells, undefined)
    return places.map(() => {
      const row: Value[] = []
      reader.next(row)
      return row[this.place] ?? null
    })
  }
}

/** Rows of the table; `place` is the place of their owner. undefined: the page has no such table. */
export function packedRows(packed: Packed, name: string, place: number): SqliteRows | undefined {
  const table = packed.tables.find((one) => one.name === name)
  return table && new PackedRows(new Cells(packed, table), place)
}
