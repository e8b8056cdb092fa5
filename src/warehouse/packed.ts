/**
 * Tuples as three flat things that cross a thread boundary cheaply: 3 ms a page of 3,600 rows both ways together, where
 * the structured clone of the tuples themselves takes 9 (bench/).
 */
import type { Tuple, Value } from '../derive/batch.js'
import { Bug } from '../errors.js'

export interface Packed {
  readonly tables: readonly {
    readonly name: string
    readonly rows: number
    readonly width: number
    /** Length of its texts. */
    readonly characters: number
  }[]
  readonly kinds: Uint8Array<ArrayBuffer>
  /** Of a number its value, of a text its length. */
  readonly numbers: Float64Array<ArrayBuffer>
  /** All texts, one behind the other. */
  readonly text: string
}

const kind = { null: 0, text: 1, number: 2, true: 3, false: 4, bigint: 5 } as const

export function pack(rows: ReadonlyMap<string, readonly Tuple[]>): Packed {
  const all = [...rows].map(([name, tuples]) => ({ name, tuples, width: tuples[0]?.length ?? 0 }))
  const count = all.reduce((sum, { tuples, width }) => sum + tuples.length * width, 0)
  const packing = new Packing(count)
  const tables = all.map(({ name, tuples, width }) => {
    const characters = packing.add(tuples, width)
    return { name, rows: tuples.length, width, characters }
  })
  const { kinds, numbers, texts } = packing
  return { tables, kinds, numbers, text: texts.join('') }
}

class Packing {
  readonly kinds: Uint8Array<ArrayBuffer>
  readonly numbers: Float64Array<ArrayBuffer>
  readonly texts: string[] = []
  #at = 0

  constructor(cells: number) {
    this.kinds = new Uint8Array(cells)
    this.numbers = new Float64Array(cells)
  }

  /** Returns the length of the texts. */
  add(tuples: readonly Tuple[], width: number): number {
    const { kinds, numbers, texts } = this
    let [at, characters] = [this.#at, 0]
    for (const tuple of tuples) {
      if (tuple.length !== width) throw new Bug('Tuples of one table differ in length')
      for (let i = 0; i < width; i++, at++) {
        const value = tuple[i]
        if (typeof value === 'string') {
          kinds[at] = kind.text
          numbers[at] = value.length
          characters += value.length
          texts.push(value)
        } else if (typeof value === 'number') {
          kinds[at] = kind.number
          numbers[at] = value
        } else if (typeof value === 'bigint') {
          const digits = String(value)
          kinds[at] = kind.bigint
          numbers[at] = digits.length
          characters += digits.length
          texts.push(digits)
        } else if (value === true) kinds[at] = kind.true
        else if (value === false) kinds[at] = kind.false
      }
    }
    this.#at = at
    return characters
  }
}

const ready = new WeakMap<ReadonlyMap<string, readonly Tuple[]>, Packed>()

/**
 * Packs a page as soon as it is flattened, and drops its tuples: some hundred thousand small things that would lie in
 * the heap until the page's turn comes, and that the garbage collector would copy twice until then.
 */
export function packEarly(rows: Map<string, Tuple[]>): void {
  ready.set(rows, pack(rows))
  rows.clear()
}

export const isPacked = (rows: ReadonlyMap<string, readonly Tuple[]>): boolean => ready.has(rows)

export const packedRows = (rows: ReadonlyMap<string, readonly Tuple[]>): Packed =>
  ready.get(rows) ?? pack(rows)

/** One table's cells, read from where they begin. */
class Reader {
  readonly #packed: Packed
  #at: number
  #text: number

  constructor(packed: Packed, at: number, text: number) {
    this.#packed = packed
    this.#at = at
    this.#text = text
  }

  tuples(rows: number, width: number): Tuple[] {
    const tuples: Tuple[] = []
    for (let row = 0; row < rows; row++) {
      const tuple: Tuple = []
      for (let i = 0; i < width; i++) tuple.push(this.#value())
      tuples.push(tuple)
    }
    return tuples
  }

  #value(): Value {
    const { kinds, numbers } = this.#packed
    const at = this.#at++
    switch (kinds[at]) {
      case kind.text:
        return this.#slice(numbers[at] ?? 0)
      case kind.number:
        return numbers[at] ?? 0
      case kind.true:
        return true
      case kind.false:
        return false
      case kind.bigint:
        return BigInt(this.#slice(numbers[at] ?? 0))
      default:
        return null
    }
  }

  #slice(length: number): string {
    const from = this.#text
    this.#text += length
    return this.#packed.text.slice(from, this.#text)
  }
}

/**
 * The rows again, each table's when it is asked for: what is not there yet is not copied by the garbage collector
 * while the tables before it are written.
 */
class Unpacked extends Map<string, Tuple[]> {
  readonly #packed: Packed

  constructor(packed: Packed) {
    super()
    this.#packed = packed
  }

  override get(name: string): Tuple[] | undefined {
    let [at, text] = [0, 0]
    for (const table of this.#packed.tables) {
      if (table.name === name) return new Reader(this.#packed, at, text).tuples(table.rows, table.width)
      at += table.rows * table.width
      text += table.characters
    }
    return undefined
  }
}

/** For reading by name only. */
export const unpack = (packed: Packed): Map<string, Tuple[]> => new Unpacked(packed)
