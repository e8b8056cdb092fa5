import { firstPlace } from '../../src/engine/compare/histogram.js'
import { countOf, type Dataset, orderOf, type ResourceName } from './dataset.js'
import { Templates } from './template.js'

const base = Date.UTC(2026, 0, 1)
/** Milliseconds between two records. */
const step = 37_000

/** The list of one resource of one tenant, newest first, and its pages as ready bytes. */
export class List {
  /** Numbers of the records, newest first. */
  #order: Int32Array
  readonly #updated: Float64Array
  readonly #versions: Uint8Array
  readonly #templates: Templates

  private constructor(order: Int32Array, templates: Templates) {
    this.#order = order
    this.#updated = new Float64Array(order.length)
    for (const [place, record] of order.entries()) this.#updated[record] = base - place * step
    this.#versions = new Uint8Array(order.length)
    this.#templates = templates
  }

  /** `orders`: how many repair orders the tenant has. */
  static of(resource: ResourceName, dataset: Dataset, orders: number): List {
    return new List(orderOf(dataset, countOf(resource, orders)), new Templates(resource, dataset))
  }

  /** The list as it was before anything changed. */
  original(dataset: Dataset): List {
    return new List(orderOf(dataset, this.#order.length), this.#templates)
  }

  /** Warehouse rows of all records. */
  get rows(): number {
    return this.#rowsOf(this.#order)
  }

  /** Every nth record gets a new version and moves to the front of the list. Returns their rows. */
  change(every: number): number {
    const changed = this.#order.filter((_, i) => i % every === 0)
    const rest = this.#order.filter((_, i) => i % every !== 0)
    const newest = this.#updated[this.#order[0] ?? 0] ?? base
    for (const [i, record] of changed.entries()) {
      this.#updated[record] = newest + (changed.length - i) * 1000
      this.#versions[record] = (this.#versions[record] ?? 0) + 1
    }
    this.#order = Int32Array.from([...changed, ...rest])
    return this.#rowsOf(changed)
  }

  /** How many records are newer than a moment, in milliseconds with a fraction. */
  countAfter(moment: number): number {
    const updatedAt = (place: number): number => this.#updated[this.#order[place] ?? 0] ?? 0
    return firstPlace(0, this.#order.length, (place) => updatedAt(place) <= moment)
  }

  /** The body of one response, in the API's list envelope. */
  page(updatedAfter: number, number: number, perPage: number): Buffer {
    const total = this.countAfter(updatedAfter)
    const records = [...this.#order.subarray(0, total).subarray((number - 1) * perPage, number * perPage)]
    const head = Buffer.from('{"results":[')
    const pages = Math.ceil(total / perPage)
    const tail = Buffer.from(
      `],"limit":${records.length},"limited":${perPage === 100},"total_count":${total},"current_page":${number},"total_pages":${pages}}`,
    )
    const version = (record: number): number => this.#versions[record] ?? 0
    const sizes = records.reduce((sum, record) => sum + this.#templates.size(record, version(record)) + 1, 0)
    const body = Buffer.allocUnsafe(head.length + tail.length + Math.max(0, sizes - 1))
    let at = head.copy(body)
    for (const [i, record] of records.entries()) {
      if (i > 0) body[at++] = 44
      at = this.#templates.write(body, at, record, version(record), this.#updated[record] ?? 0)
    }
    tail.copy(body, at)
    return body
  }

  #rowsOf(records: Int32Array): number {
    return records.reduce((sum, record) => sum + this.#templates.rows(record, this.#versions[record] ?? 0), 0)
  }
}
