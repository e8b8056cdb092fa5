import { sizeOf, writeRecord } from './template.js'

const base = Date.UTC(2026, 0, 1)
/** Milliseconds between two orders. */
const step = 37_000

/** The list of one tenant's repair orders, newest first, and its pages as ready bytes. */
export class List {
  /** Numbers of the records, newest first. */
  #order: Int32Array
  readonly #updated: Float64Array
  readonly #versions: Uint8Array

  constructor(records: number) {
    this.#order = Int32Array.from({ length: records }, (_, i) => i)
    this.#updated = Float64Array.from({ length: records }, (_, i) => base - i * step)
    this.#versions = new Uint8Array(records)
  }

  get length(): number {
    return this.#order.length
  }

  /** Every so-manieth record gets a new version, and comes to the front of the list. Returns how many. */
  change(every: number): number {
    const changed = this.#order.filter((_, i) => i % every === 0)
    const rest = this.#order.filter((_, i) => i % every !== 0)
    const newest = this.#updated[this.#order[0] ?? 0] ?? base
    for (const [i, record] of changed.entries()) {
      this.#updated[record] = newest + (changed.length - i) * 1000
      this.#versions[record] = (this.#versions[record] ?? 0) + 1
    }
    this.#order = Int32Array.from([...changed, ...rest])
    return changed.length
  }

  /** How many records are newer than a moment, in milliseconds with a fraction. */
  countAfter(moment: number): number {
    let [low, high] = [0, this.#order.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#updated[this.#order[middle] ?? 0] ?? 0) > moment) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The body of one answer (api-v1.md, List envelope). */
  page(updatedAfter: number, number: number, perPage: number): Buffer {
    const total = this.countAfter(updatedAfter)
    const records = [...this.#order.subarray(0, total).subarray((number - 1) * perPage, number * perPage)]
    const head = Buffer.from('{"results":[')
    const pages = Math.ceil(total / perPage)
    const tail = Buffer.from(
      `],"limit":${records.length},"limited":${perPage === 100},"total_count":${total},"current_page":${number},"total_pages":${pages}}`,
    )
    const sizes = records.reduce((sum, record) => sum + sizeOf(record, this.#versions[record] ?? 0) + 1, 0)
    const body = Buffer.allocUnsafe(head.length + tail.length + Math.max(0, sizes - 1))
    let at = head.copy(body)
    for (const [i, record] of records.entries()) {
      if (i > 0) body[at++] = 44
      at = writeRecord(body, at, record, this.#versions[record] ?? 0, this.#updated[record] ?? 0)
    }
    tail.copy(body, at)
    return body
  }
}
