/**
 * A set of rows in a kilobyte, so that two sets can be compared without listing either. Used by register.ts, and to
 * compare a register with the rows (src/features/reconcile).
 */
import type { Int64 } from '../../../../schema/resource.js'
import { exact } from '../../base/int64.js'

/** Each row is entered in one cell of each part. With these sizes, a difference can name about thirty rows. */
const parts = 4
const width = 18
/**
 * The numbers in a cell: the count of its rows, and the sums of their ids (lower and upper half), versions and
 * checksums.
 */
const fields = 5
const size = parts * width * fields

/** Mixes 64 bits to 32 (the finalizer of MurmurHash3, twice). */
function mixed(low: number, high: number, seed: number): number {
  let h = low ^ seed
  for (const part of [high, seed]) {
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    h = (h ^ (h >>> 16)) + Math.imul(part, 0x9e3779b1)
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  return (h ^ (h >>> 13)) >>> 0
}

const halves = (id: Int64): [number, number] =>
  typeof id === 'number'
    ? [id >>> 0, Math.floor(id / 2 ** 32) >>> 0]
    : [Number(BigInt.asUintN(32, id)), Number(BigInt.asUintN(32, id >> 32n))]

const whole = (low: number, high: number): Int64 =>
  exact(BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low)))

/** A row in a sketch: its id, and a digest of its version. */
export interface SketchEntry {
  readonly id: Int64
  readonly version: number
}

/** The rows that only the first of two sets has (`more`), or only the second (`less`). */
export interface SetDifference {
  readonly more: readonly SketchEntry[]
  readonly less: readonly SketchEntry[]
}

/** A version (`updated_at`) in 32 bits (FNV-1a). */
export function digest(updatedAt: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < updatedAt.length; i++) h = Math.imul(h ^ updatedAt.charCodeAt(i), 0x01000193)
  return h >>> 0
}

/**
 * An invertible Bloom filter (Goodrich and Mitzenmacher, 2011): the difference of two sketches names the rows that only
 * one of the two sets has, however large the sets are, as long as these rows are few. Otherwise it reports that they
 * aren't.
 */
export class Sketch {
  readonly #cells = new Int32Array(size)

  /** Enters a row; with -1, removes it. */
  add({ id, version }: SketchEntry, times: 1 | -1 = 1): void {
    const [low, high] = halves(id)
    this.#enter(low, high, version, times)
  }

  #enter(low: number, high: number, version: number, times: number): void {
    const key = mixed(low, high, version)
    const check = mixed(key, high, 99)
    for (let part = 0; part < parts; part++) {
      const at = place(key, part)
      this.#raise(at, times)
      this.#raise(at + 1, times * low)
      this.#raise(at + 2, times * high)
      this.#raise(at + 3, times * version)
      this.#raise(at + 4, times * check)
    }
  }

  /** Numbers wrap around. */
  #raise(at: number, by: number): void {
    this.#cells[at] = ((this.#cells[at] ?? 0) + by) | 0
  }

  /** The difference from another set. undefined if it has too many rows to name. */
  against(other: Sketch): SetDifference | undefined {
    const rest = new Sketch()
    for (let i = 0; i < size; i++) rest.#cells[i] = (this.#cells[i] ?? 0) - (other.#cells[i] ?? 0)
    const [more, less]: [SketchEntry[], SketchEntry[]] = [[], []]
    for (let isFound = true; isFound; ) {
      isFound = false
      for (let at = 0; at < size; at += fields) {
        const times = rest.#cells[at] ?? 0
        const row = rest.#single(at, times)
        if (!row) continue
        ;(times > 0 ? more : less).push(row)
        rest.add(row, times > 0 ? -1 : 1)
        isFound = more.length + less.length <= size
      }
    }
    return rest.#cells.every((number) => number === 0) ? { more, less } : undefined
  }

  /** The row in a cell that holds exactly one row. undefined for several rows, or none. */
  #single(at: number, times: number): SketchEntry | undefined {
    if (times !== 1 && times !== -1) return undefined
    const sum = (field: number): number => ((this.#cells[at + field] ?? 0) * times) >>> 0
    const [low, high, version] = [sum(1), sum(2), sum(3)]
    const key = mixed(low, high, version)
    const isOwn = sum(4) === mixed(key, high, 99) && place(key, Math.floor(at / fields / width)) === at
    return isOwn ? { id: whole(low, high), version } : undefined
  }

  equals(other: Sketch): boolean {
    return this.#cells.every((number, i) => number === other.#cells[i])
  }

  encode(): string {
    const bytes = Buffer.alloc(size * 4)
    for (let i = 0; i < size; i++) bytes.writeInt32LE(this.#cells[i] ?? 0, i * 4)
    return bytes.toString('base64')
  }

  /** An empty sketch for null, and for a text that isn't a sketch. */
  static decode(text: string | null): Sketch {
    const sketch = new Sketch()
    const bytes = Buffer.from(text ?? '', 'base64')
    if (bytes.length === size * 4) for (let i = 0; i < size; i++) sketch.#cells[i] = bytes.readInt32LE(i * 4)
    return sketch
  }
}

/** The cell of a row in one part. */
const place = (key: number, part: number): number => (part * width + (mixed(key, part, 7) % width)) * fields
