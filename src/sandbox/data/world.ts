/**
 * The state that all makers of one tenant share: ids, facts, the batch of records. Used by every file in this folder.
 */
import { printInstant } from '../instant.js'
import type { Random } from '../random.js'
import type { StoredRecord } from '../records/collection.js'
import type { Stamped } from '../records/json.js'
import { packed } from '../records/packed.js'
import { isRecordList } from '../records/resources.js'
import type { Store } from '../records/store.js'
import type { CatalogueJob } from './catalogue.js'
import type { OpeningHours } from './hours.js'
import { type Moment, print } from './moment.js'
import type { Supply } from './supply.js'
import type { CarModel, City } from './vocabulary.js'

export interface Stock {
  readonly id: number
  readonly key: string
  readonly brand: string
  readonly description: string
  readonly number: string
  readonly cost: number
  readonly price: number
  /** The inventory item of the deposit on the old part. */
  readonly core: number | null
}

export interface CannedJob {
  readonly id: number
  readonly job: CatalogueJob
}

export interface ShopFacts {
  readonly id: number
  readonly city: City
  readonly hours: OpeningHours
  /** Cents per hour: rates rise twice a year. */
  readonly laborRate: (at: Moment) => number
  readonly technicians: readonly number[]
  readonly hired: readonly { readonly id: number; readonly from: Moment }[]
  readonly advisors: readonly number[]
  /** By part key. */
  readonly stock: ReadonlyMap<string, readonly Stock[]>
  readonly stockById: ReadonlyMap<number, Stock>
  readonly supply: Supply<Stock>
  readonly jobs: readonly CannedJob[]
}

export interface VehicleFacts {
  readonly id: number
  readonly model: CarModel
  odometer: number
}

export interface CustomerFacts {
  readonly id: number
  readonly first: string
  readonly last: string
  readonly shopIds: Set<number>
  readonly vehicles: VehicleFacts[]
  /** Pays by invoice, weeks later, as fleets do. */
  readonly onAccount: boolean
  readonly since: Moment
  /** Includes those before the first generated order. */
  visits: number
  seen: Moment
  /** Asked for a price, never came, and was deleted. */
  gone: boolean
}

/** The resources that makers in this folder write. declared.ts fills every other declared resource. */
const HAND_MADE = new Set(
  (
    'appointments assignments canned_jobs categories customers gp_exceptions integrator_tags inventories notes ' +
    'past_recommendations payment_transactions payments purchase_records recommendations repair_orders shops staffs ' +
    'statuses vehicles vendors'
  ).split(' '),
)

export const isHandMade = (resource: string): boolean => HAND_MADE.has(resource)

/** The facts about one tenant that the makers share, and the way their records get into the store. */
export class World {
  shops: readonly ShopFacts[] = []
  /** The vendors of the shop with id 1, of the shop with id 2, and so on. */
  vendorIds: readonly (readonly number[])[] = []
  statusIds: readonly number[] = []
  categoryIds: ReadonlyMap<string, number> = new Map()
  /** In the order of their ids, which start at 1; partners create their own customers in between. */
  readonly customers: CustomerFacts[] = []
  /** The ids of orders that aren't closed yet. */
  readonly open = new Set<number>()
  /** The number of records of each resource that declared.ts fills. */
  readonly declared = new Map<string, number>()
  /** While true, the sandbox clock stamps records and they are visible immediately. */
  live = false
  readonly #ids = new Map<string, number>()
  readonly #spare = new Map<string, Set<number>>()
  readonly #batch = new Map<string, StoredRecord[]>()

  constructor(
    readonly store: Store,
    readonly tenant: number,
    readonly random: Random,
    /** The first day of the business in these records. */
    readonly start: Moment,
    /** Whether these records are kept compressed. */
    private readonly packs = false,
  ) {}

  vendorsOf(shopId: number): readonly number[] {
    return this.vendorIds[shopId - 1] ?? []
  }

  customer(id: number): CustomerFacts | undefined {
    const usual = this.customers[id - 1]
    return usual?.id === id ? usual : this.customers.find((customer) => customer.id === id)
  }

  /** The ids of the records that working shops have added and that nothing refers to, by resource. */
  spareOf(resource: string): Set<number> {
    const spare = this.#spare.get(resource) ?? new Set()
    this.#spare.set(resource, spare)
    return spare
  }

  /** Ids of every tenant start at 1: ids of different tenants collide, as the API allows. */
  id(kind: string): number {
    // Partners and scripts also create records, which must not be overwritten.
    const taken = this.live && isRecordList(kind) ? this.store.collection(this.tenant, kind).nextKey - 1 : 0
    const id = Math.max(this.#ids.get(kind) ?? 0, taken) + 1
    this.#ids.set(kind, id)
    return id
  }

  stamps(kind: string, at: Moment): Stamped {
    const time = print(at)
    return { id: this.id(kind), created_at: time, updated_at: time }
  }

  /** Stores the record with this moment as its updated_at. */
  emit(resource: string, record: Stamped, at: Moment): void {
    if (this.live) {
      this.#emitNow(resource, record, print(at))
      return
    }
    record.updated_at = print(at)
    const batch = this.#batch.get(resource) ?? []
    this.#batch.set(resource, batch)
    batch.push(this.store.entry(JSON.stringify(record), record.id, BigInt(at)))
  }

  flush(): void {
    for (const [resource, entries] of this.#batch)
      this.store.collection(this.tenant, resource).load(this.packs ? packed(entries) : entries)
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
