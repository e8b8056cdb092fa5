/**
 * Tuples as flat things in memory that two threads share: 2 ms a page of 3,600 rows both ways together, where the
 * structured clone of the tuples themselves takes 9 (bench/), and nothing of it in either thread's heap.
 */

import { Bug } from '../../../errors.js'
import type { Flattened, Tuple } from '../../../model/flatten/batch.js'

type Rows = Flattened['rows']

/** How much of each thing there is. */
interface Extent {
  readonly cells: number
  /** Characters of texts that are ASCII. */
  readonly narrow: number
  /** UTF-16 units of those that are not. */
  readonly wide: number
}

export interface PackedTable extends Extent {
  readonly name: string
  readonly rows: number
  readonly width: number
}

export interface Packed {
  readonly tables: readonly PackedTable[]
  /** See `views`. */
  readonly memory: SharedArrayBuffer
}

export const kind = { null: 0, narrow: 1, wide: 2, number: 3, true: 4, false: 5, bigint: 6 } as const

const bytesOfNumber = 8
const bytesOfWide = 2

/**
 * The parts of a packed page: of each cell a number (of a text its length) and a kind, and the texts one behind the
 * other. Those in ASCII, nearly all, take a byte a character, and SQLite is given them in half the time.
 */
export function views(memory: SharedArrayBuffer, { cells, narrow, wide }: Extent) {
  const narrows = cells * bytesOfNumber
  const wides = narrows + narrow
  const kinds = wides + wide * bytesOfWide
  return {
    numbers: new Float64Array(memory, 0, cells),
    narrow: Buffer.from(memory, narrows, narrow),
    wide: Buffer.from(memory, wides, wide * bytesOfWide),
    kinds: new Uint8Array(memory, kinds, cells),
  }
}

const sizeOf = ({ cells, narrow, wide }: Extent): number =>
  cells * (bytesOfNumber + 1) + narrow + wide * bytesOfWide

export const sumOf = (tables: readonly Extent[]): Extent => ({
  cells: tables.reduce((sum, { cells }) => sum + cells, 0),
  narrow: tables.reduce((sum, { narrow }) => sum + narrow, 0),
  wide: tables.reduce((sum, { wide }) => sum + wide, 0),
})

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length

/** Memory of pages that are stored, for those to come: what is made anew for each page waits long to be collected. */
const spare: SharedArrayBuffer[] = []
const mostSpare = 8
const smallest = 1 << 16

function take(size: number): SharedArrayBuffer {
  const found = spare.findIndex((memory) => memory.byteLength >= size)
  if (found >= 0) return spare.splice(found, 1)[0] as SharedArrayBuffer
  return new SharedArrayBuffer(Math.max(smallest, 2 ** Math.ceil(Math.log2(size))))
}

/** Where cells are gathered before it is known how much room they take. */
class Packing {
  static #kinds = new Uint8Array(smallest)
  static #numbers = new Float64Array(smallest)
  readonly #narrow: string[] = []
  readonly #wide: string[] = []
  #cells = 0

  add(name: string, tuples: readonly Tuple[]): PackedTable {
    const width = tuples[0]?.length ?? 0
    const from = this.#cells
    this.#reserve(tuples.length * width)
    const texts = this.#gather(tuples, width)
    const whole = texts.join('')
    const extent = isAscii(whole) ? { narrow: whole, wide: '' } : this.#split(texts, from)
    this.#narrow.push(extent.narrow)
    this.#wide.push(extent.wide)
    return {
      name,
      rows: tuples.length,
      width,
      cells: tuples.length * width,
      narrow: extent.narrow.length,
      wide: extent.wide.length,
    }
  }

  memory(extent: Extent): SharedArrayBuffer {
    const memory = take(sizeOf(extent))
    const { numbers, narrow, wide, kinds } = views(memory, extent)
    numbers.set(Packing.#numbers.subarray(0, extent.cells))
    kinds.set(Packing.#kinds.subarray(0, extent.cells))
    let at = 0
    for (const text of this.#narrow) at += narrow.write(text, at, 'latin1')
    at = 0
    for (const text of this.#wide) at += wide.write(text, at, 'utf16le')
    return memory
  }

  /** Returns the texts among the cells. */
  #gather(tuples: readonly Tuple[], width: number): string[] {
    const [kinds, numbers] = [Packing.#kinds, Packing.#numbers]
    const texts: string[] = []
    let at = this.#cells
    for (const tuple of tuples) {
      if (tuple.length !== width) throw new Bug('Tuples of one table differ in length')
      for (let i = 0; i < width; i++, at++) {
        const value = tuple[i]
        if (typeof value === 'string') {
          kinds[at] = kind.narrow
          numbers[at] = value.length
          texts.push(value)
        } else if (typeof value === 'number') {
          kinds[at] = kind.number
          numbers[at] = value
        } else if (typeof value === 'bigint') {
          const digits = String(value)
          kinds[at] = kind.bigint
          numbers[at] = digits.length
          texts.push(digits)
        } else kinds[at] = value === true ? kind.true : value === false ? kind.false : kind.null
      }
    }
    this.#cells = at
    return texts
  }

  /** Tells the texts of the cells from here on apart. */
  #split(texts: readonly string[], from: number): { narrow: string; wide: string } {
    const kinds = Packing.#kinds
    const [narrow, wide] = [[] as string[], [] as string[]]
    let at = from
    for (const text of texts) {
      while (kinds[at] !== kind.narrow && kinds[at] !== kind.bigint) at++
      if (isAscii(text)) narrow.push(text)
      else {
        kinds[at] = kind.wide
        wide.push(text)
      }
      at++
    }
    return { narrow: narrow.join(''), wide: wide.join('') }
  }

  #reserve(more: number): void {
    const cells = this.#cells + more
    if (cells <= Packing.#kinds.length) return
    const [kinds, numbers] = [Packing.#kinds, Packing.#numbers]
    Packing.#kinds = new Uint8Array(cells * 2)
    Packing.#numbers = new Float64Array(cells * 2)
    Packing.#kinds.set(kinds)
    Packing.#numbers.set(numbers)
  }
}

export function pack(rows: ReadonlyMap<string, readonly Tuple[]>): Packed {
  const packing = new Packing()
  const tables = [...rows].map(([name, tuples]) => packing.add(name, tuples))
  return { tables, memory: packing.memory(sumOf(tables)) }
}

const ready = new WeakMap<Rows, Packed | 'stored'>()

/**
 * Packs a page as soon as it is flattened, and drops its tuples: some hundred thousand small things that would lie in
 * the heap until the page's turn comes, and that the garbage collector would copy twice until then.
 */
export function packEarly(rows: Rows): void {
  ready.set(rows, pack(rows))
  rows.clear()
}

export const isPacked = (rows: Rows): boolean => ready.has(rows)

/** Rows that came packed from the other thread. */
export function received(packed: Packed): Rows {
  const rows: Rows = new Map()
  ready.set(rows, packed)
  return rows
}

export function packedRows(rows: Rows): Packed {
  const packed = ready.get(rows)
  if (packed === 'stored') throw new Bug('A page that was packed early can be stored once')
  return packed ?? pack(rows)
}

/** The page is stored: its memory may hold another. */
export function release(rows: Rows): void {
  const packed = ready.get(rows)
  if (packed === undefined || packed === 'stored') return
  ready.set(rows, 'stored')
  if (spare.length < mostSpare) spare.push(packed.memory)
}
