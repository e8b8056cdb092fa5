import { parseInstant, printInstant } from '../instant.js'
import type { Random } from '../random.js'
import type { Entry } from '../records/collection.js'
import type { Store } from '../records/store.js'
import type { CatalogueJob } from './catalogue.js'
import type { Stamped } from './shape.js'
import type { City, Model } from './vocabulary.js'

/** Microseconds since 1970 as a number: whole and exact until the year 2255, and quicker than a bigint. */
export type Moment = number

export const SECOND = 1_000_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

let lastMoment: Moment = Number.NaN
let lastText = ''

/** Remembers the last one: an order's items are all made in one moment, and share its text. */
export function text(moment: Moment): string {
  if (moment !== lastMoment) {
    lastMoment = moment
    lastText = printInstant(BigInt(moment))
  }
  return lastText
}

export const momentOf = (time: string): Moment => Number(parseInstant(time) ?? 0n)

export interface Stock {
  readonly id: number
  readonly key: string
  readonly brand: string
  readonly description: string
  readonly number: string
  readonly cost: number
  readonly price: number
}

export interface CannedJob {
  readonly id: number
  readonly job: CatalogueJob
}

export interface ShopFacts {
  readonly id: number
  readonly city: City
  readonly laborRate: number
  readonly technicians: readonly number[]
  readonly advisors: readonly number[]
  readonly stock: readonly Stock[]
  readonly jobs: readonly CannedJob[]
  readonly weight: number
}

export interface VehicleFacts {
  readonly id: number
  readonly model: Model
  odometer: number
}

export interface CustomerFacts {
  readonly id: number
  readonly first: string
  readonly last: string
  readonly shopIds: Set<number>
  readonly vehicles: VehicleFacts[]
  readonly since: Moment
  seen: Moment
}

/** Everything that the makers of one tenant's records know of it, and where their records go. */
export class World {
  readonly tenant: number
  readonly random: Random
  readonly store: Store
  shops: readonly ShopFacts[] = []
  vendorIds: readonly number[] = []
  statusIds: readonly number[] = []
  categoryIds: ReadonlyMap<string, number> = new Map()
  /** In the order of their ids, which count from 1. */
  readonly customers: CustomerFacts[] = []
  /** Orders that are not closed yet, for the shops that go on working. */
  readonly open = new Set<number>()
  /** While set, records are stamped by the sandbox clock and seen at once. */
  live = false
  readonly #ids = new Map<string, number>()
  readonly #batch = new Map<string, Entry[]>()

  constructor(store: Store, tenant: number, random: Random) {
    this.store = store
    this.tenant = tenant
    this.random = random
  }

  /** Every tenant counts from 1, so that ids of different tenants collide, as they may. */
  id(kind: string): number {
    const id = (this.#ids.get(kind) ?? 0) + 1
    this.#ids.set(kind, id)
    return id
  }

  stamps(kind: string, at: Moment): Stamped {
    const time = text(at)
    return { id: this.id(kind), created_at: time, updated_at: time }
  }

  /** The record as it is from this moment on. */
  emit(resource: string, record: Stamped, at: Moment): void {
    if (this.live) {
      this.#emitNow(resource, record, text(at))
      return
    }
    record.updated_at = text(at)
    let batch = this.#batch.get(resource)
    if (batch === undefined) {
      batch = []
      this.#batch.set(resource, batch)
    }
    batch.push(this.store.entry(JSON.stringify(record), record.id, BigInt(at)))
  }

  flush(): void {
    for (const [resource, entries] of this.#batch) this.store.collection(this.tenant, resource).load(entries)
    this.#batch.clear()
  }

  #emitNow(resource: string, record: Stamped, asked: string): void {
    const micros = this.store.stamp()
    const time = printInstant(micros)
    if (record.created_at === asked) record.created_at = time
    record.updated_at = time
    this.store.putText(this.tenant, resource, JSON.stringify(record), record.id, micros)
  }
}
