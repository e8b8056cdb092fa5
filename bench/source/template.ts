import { type Dataset, type ResourceName, related } from './dataset.js'
import { hostile, lifelike } from './noise.js'
import { marks, recordOf, updatedMark } from './record.js'

/** How many records of a resource have different text; the others repeat it with their own ids and times. */
const bodies = 400
/** Ids per record; more than it has rows. */
const idsPerRecord = 64
const digits = String(marks.id).length
/** Where the ids of each resource start; far enough apart for a million records. */
const firstIds: Record<ResourceName | 'vehicles', number> = {
  repair_orders: 1_000_000_000,
  customers: 1_200_000_000,
  notes: 1_300_000_000,
  payments: 1_400_000_000,
  inventories: 1_500_000_000,
  vehicles: 1_600_000_000,
}

/** A mark as a member's value, by itself or as the end of a wide integer; other digits may look like one. */
const mark = /(?<=":(?:10000000)?)9000000(\d{3})(?!\d)/g

/** The JSON text of one record, and where its ids and its updated_at are in it. */
interface Template {
  readonly text: Buffer
  /** Offset and number of each id in turn. */
  readonly ids: Int32Array
  readonly updatedAt: number
  /** Rows that it becomes in the warehouse. */
  readonly rows: number
}

/** One for the record, and one for each item of each array in it. */
function rowsIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + 1 + rowsIn(item), 0)
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, inner) => sum + rowsIn(inner), 0)
}

function textOf(record: object, seed: number, dataset: Dataset): string {
  if (dataset === 'hostile') return hostile(record, seed)
  return JSON.stringify(dataset === 'tidy' ? record : lifelike(record, seed))
}

function template(resource: ResourceName, dataset: Dataset, seed: number): Template {
  const record = recordOf(resource, seed)
  const text = Buffer.from(textOf(record, seed, dataset))
  // Every mark is ASCII, so byte offsets equal those of the same text read as Latin-1.
  const found = text.toString('latin1').matchAll(mark)
  const ids = Int32Array.from([...found].flatMap((match) => [match.index, Number(match[1])]))
  return { text, ids, updatedAt: text.indexOf(updatedMark), rows: 1 + rowsIn(record) }
}

/** Writes a ten-digit number over a mark of the same length; all are below 2^31, where division is cheap. */
function writeDigits(target: Buffer, at: number, value: number): void {
  let rest = value | 0
  for (let i = at + digits - 1; i >= at; i--) {
    const next = (rest / 10) | 0
    target[i] = 48 + rest - next * 10
    rest = next
  }
}

/**
 * The records of one resource as bytes, by number and version. A later version has a different body with the same ids.
 */
export class Templates {
  readonly #resource: ResourceName
  readonly #templates: readonly Template[]

  constructor(resource: ResourceName, dataset: Dataset) {
    this.#resource = resource
    this.#templates = Array.from({ length: bodies }, (_, seed) => template(resource, dataset, seed))
  }

  size(record: number, version: number): number {
    return this.#of(record, version).text.length
  }

  rows(record: number, version: number): number {
    // An order's totals are a row, too (docs/totals.md).
    return this.#of(record, version).rows + (this.#resource === 'repair_orders' ? 1 : 0)
  }

  /** Writes one record into a page; returns where it ends. */
  write(page: Buffer, at: number, record: number, version: number, updatedAt: number): number {
    const { text, ids, updatedAt: updated } = this.#of(record, version)
    text.copy(page, at)
    for (let i = 0; i < ids.length; i += 2)
      writeDigits(page, at + (ids[i] ?? 0), this.#id(record, ids[i + 1] ?? 0))
    page.write(new Date(updatedAt).toISOString(), at + updated, 'latin1')
    return at + text.length
  }

  #of(record: number, version: number): Template {
    return this.#templates[(record * 7 + version * 13) % bodies] as Template
  }

  #id(record: number, number: number): number {
    if (number < idsPerRecord) return firstIds[this.#resource] + record * idsPerRecord + number
    const to = (resource: ResourceName): number =>
      firstIds[resource] + related(resource, this.#resource, record) * idsPerRecord + 1
    if (number === marks.order % 1000) return to('repair_orders')
    return number === marks.customer % 1000 ? to('customers') : firstIds.vehicles + record
  }
}
