/**
 * Tuples as three flat things in memory that two threads share: 3 ms a page of 3,600 rows both ways together, where the
 * structured clone of the tuples themselves takes 9 (bench/), and nothing of it in either thread's heap.
 */
import type { Flattened, Tuple, Value } from '../derive/batch.js'
import { Bug } from '../errors.js'

type Rows = Flattened['rows']

export interface Packed {
  readonly tables: readonly {
    readonly name: string
    readonly rows: number
    readonly width: number
    /** Length of its texts. */
    readonly characters: number
  }[]
  /** Numbers (of a number its value, of a text its length), then texts one behind the other in UTF-16, then kinds. */
  readonly memory: SharedArrayBuffer
}

const kind = { null: 0, text: 1, number: 2, true: 3, false: 4, bigint: 5 } as const

const bytesOfNumber = 8
const bytesOfCharacter = 2

/** Where the parts of a packed page lie. */
function views(memory: SharedArrayBuffer, cells: number, characters: number) {
  const texts = cells * bytesOfNumber
  const kinds = texts + characters * bytesOfCharacter
  return {
    numbers: new Float64Array(memory, 0, cells),
    texts: Buffer.from(memory, texts, characters * bytesOfCharacter),
    kinds: new Uint8Array(memory, kinds, cells),
  }
}

const sizeOf = (cells: number, characters: number): number =>
  cells * (bytesOfNumber + 1) + characters * bytesOfCharacter

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
  readonly texts: string[] = []
  #cells = 0
  #characters = 0

  /** Returns the length of the texts. */
  add(tuples: readonly Tuple[], width: number): number {
    this.#reserve(tuples.length * width)
    const [kinds, numbers] = [Packing.#kinds, Packing.#numbers]
    const { texts } = this
    let [at, characters] = [this.#cells, 0]
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
        } else kinds[at] = value === true ? kind.true : value === false ? kind.false : kind.null
      }
    }
    this.#cells = at
    this.#characters += characters
    return characters
  }

  memory(): SharedArrayBuffer {
    const [cells, characters] = [this.#cells, this.#characters]
    const memory = take(sizeOf(cells, characters))
    const { numbers, texts, kinds } = views(memory, cells, characters)
    numbers.set(Packing.#numbers.subarray(0, cells))
    kinds.set(Packing.#kinds.subarray(0, cells))
    texts.write(this.texts.join(''), 'utf16le')
    return memory
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
  const tables = [...rows].map(([name, tuples]) => {
    const width = tuples[0]?.length ?? 0
    return { name, rows: tuples.length, width, characters: packing.add(tuples, width) }
  })
  return { tables, memory: packing.memory() }
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

/** One table's cells. */
function tuplesOf(
  packed: Packed,
  table: Packed['tables'][number],
  from: { cell: number; character: number },
): Tuple[] {
  const sum = (count: (table: Packed['tables'][number]) => number): number =>
    packed.tables.reduce((total, one) => total + count(one), 0)
  const all = views(
    packed.memory,
    sum(({ rows, width }) => rows * width),
    sum(({ characters }) => characters),
  )
  const { numbers, kinds } = all
  const text = all.texts.toString(
    'utf16le',
    from.character * bytesOfCharacter,
    (from.character + table.characters) * bytesOfCharacter,
  )
  let [at, start] = [from.cell, 0]
  const value = (): Value => {
    const number = numbers[at] ?? 0
    switch (kinds[at++]) {
      case kind.text:
        start += number
        return text.slice(start - number, start)
      case kind.number:
        return number
      case kind.true:
        return true
      case kind.false:
        return false
      case kind.bigint:
        start += number
        return BigInt(text.slice(start - number, start))
      default:
        return null
    }
  }
  const tuples: Tuple[] = []
  for (let row = 0; row < table.rows; row++) {
    const tuple: Tuple = []
    for (let i = 0; i < table.width; i++) tuple.push(value())
    tuples.push(tuple)
  }
  return tuples
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
    const from = { cell: 0, character: 0 }
    for (const table of this.#packed.tables) {
      if (table.name === name) return tuplesOf(this.#packed, table, from)
      from.cell += table.rows * table.width
      from.character += table.characters
    }
    return undefined
  }
}

/** For reading by name only. */
export const unpack = (packed: Packed): Map<string, Tuple[]> => new Unpacked(packed)
