import type { Int64 } from '../../schema/resource.js'
import { exact } from './dialect.js'

/** Each id is entered in one cell of each third. With so many, fifty ids and more can be read from a difference. */
const thirds = 3
const width = 28
/** Numbers of a cell: how many ids, their sums (lower and upper half), and the sum of their check numbers. */
const fields = 4
const size = thirds * width * fields

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

/** What one set of ids has and another has not. */
export interface SetDifference {
  readonly more: readonly Int64[]
  readonly less: readonly Int64[]
}

/**
 * A set of ids in a kilobyte: what two sets of any size have not in common can be read from the difference of their
 * sketches, as long as that is not too much (an invertible Bloom filter: Goodrich and Mitzenmacher, 2011). Whether it
 * was too much is known.
 */
export class Sketch {
  readonly #cells = new Int32Array(size)

  /** Enters an id, or with -1 takes it out again. */
  add(id: Int64, times: 1 | -1 = 1): void {
    const [low, high] = halves(id)
    this.#enter(low, high, times)
  }

  #enter(low: number, high: number, times: number): void {
    const check = mixed(low, high, 99)
    for (const at of places(low, high)) {
      this.#raise(at, times)
      this.#raise(at + 1, times * low)
      this.#raise(at + 2, times * high)
      this.#raise(at + 3, times * check)
    }
  }

  /** Numbers wrap around. */
  #raise(at: number, by: number): void {
    this.#cells[at] = ((this.#cells[at] ?? 0) + by) | 0
  }

  /** What this set has more and less than another; undefined where that is too much to be read. */
  against(other: Sketch): SetDifference | undefined {
    const rest = new Sketch()
    for (let i = 0; i < size; i++) rest.#cells[i] = (this.#cells[i] ?? 0) - (other.#cells[i] ?? 0)
    const [more, less]: [Int64[], Int64[]] = [[], []]
    for (let isFound = true; isFound; ) {
      isFound = false
      for (let at = 0; at < size; at += fields) {
        const times = rest.#cells[at] ?? 0
        const [low, high] = [rest.#half(at + 1, times), rest.#half(at + 2, times)]
        if (!rest.#isSingle(at, times, low, high)) continue
        ;(times > 0 ? more : less).push(whole(low, high))
        rest.#enter(low, high, -times)
        isFound = more.length + less.length <= size
      }
    }
    return rest.#cells.every((number) => number === 0) ? { more, less } : undefined
  }

  #half(at: number, times: number): number {
    return ((this.#cells[at] ?? 0) * times) >>> 0
  }

  /** Whether a cell holds one id alone. */
  #isSingle(at: number, times: number, low: number, high: number): boolean {
    if (times !== 1 && times !== -1) return false
    return this.#half(at + 3, times) === mixed(low, high, 99) && places(low, high).includes(at)
  }

  encode(): string {
    const bytes = Buffer.alloc(size * 4)
    for (let i = 0; i < size; i++) bytes.writeInt32LE(this.#cells[i] ?? 0, i * 4)
    return bytes.toString('base64')
  }

  /** null and everything that is no sketch: that of no ids. */
  static decode(text: string | null): Sketch {
    const sketch = new Sketch()
    const bytes = Buffer.from(text ?? '', 'base64')
    if (bytes.length === size * 4) for (let i = 0; i < size; i++) sketch.#cells[i] = bytes.readInt32LE(i * 4)
    return sketch
  }
}

function places(low: number, high: number): number[] {
  return Array.from(
    { length: thirds },
    (_, third) => (third * width + (mixed(low, high, third + 1) % width)) * fields,
  )
}
