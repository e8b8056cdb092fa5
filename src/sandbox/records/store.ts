import { type Clock, type Micros, parseInstant, printInstant, type TimestampFormat } from '../instant.js'
import type { Collection, Entry } from './collection.js'
import { type ApiRecord, decode, encode, type Fields, reprint } from './json.js'
import { type Action, RESOURCES } from './resources.js'
import { Tenant, type TenantOptions } from './tenant.js'

export interface Change {
  readonly action: Action
  readonly tenant: number
  readonly resource: string
  readonly id: number
}

export interface PutOptions {
  /** Where the record stands in the order of updated_at, when that is not what its own updated_at says. */
  readonly at?: string
  /** The id by which get, remove and GET by id find it, when the record's own id is unusable or a duplicate. */
  readonly key?: number
}

/** Ids of nested items that are made while the sandbox runs start here, above those of generated data. */
const CHILD_IDS = 90_000_000

/** What the shops' records are at this moment. Every change to the API's content goes through here. */
export class Store {
  readonly clock: Clock
  readonly #format: TimestampFormat | undefined
  readonly #tenants = new Map<number, Tenant>()
  readonly #resources = new Set<string>(RESOURCES)
  readonly #off = new Set<string>()
  readonly #listeners = new Set<(change: Change) => void>()
  #seq = 0
  #stamped: Micros = 0n
  #child = CHILD_IDS
  /** Records of one updated_at come in a different order in each response. */
  shuffleTies = false

  constructor(clock: Clock, format?: TimestampFormat) {
    this.clock = clock
    this.#format = format
  }

  // Tenants and grants

  addTenant(options: TenantOptions): void {
    if (this.#tenants.has(options.id)) throw new Error(`tenant ${options.id} exists already`)
    this.#tenants.set(options.id, new Tenant(options))
  }

  /** The tenant is no longer granted: gone from the authorizations, 404 everywhere. Its records stay. */
  revoke(tenant: number): void {
    this.tenant(tenant).granted = false
  }

  grant(tenant: number, writable = true): void {
    Object.assign(this.tenant(tenant), { granted: true, writable })
  }

  /** The granted tenants, by id. */
  get tenantIds(): number[] {
    return this.granted.map(({ id }) => id)
  }

  get granted(): Tenant[] {
    return [...this.#tenants.values()].filter((t) => t.granted).sort((a, b) => a.id - b.id)
  }

  findTenant(id: number): Tenant | undefined {
    return this.#tenants.get(id)
  }

  tenant(id: number): Tenant {
    const tenant = this.#tenants.get(id)
    if (tenant === undefined) throw new Error(`no tenant ${id}: call addTenant({ id: ${id} }) first`)
    return tenant
  }

  // Resources

  /** Serves a made-up list resource like the documented ones. */
  register(resource: string): void {
    this.#resources.add(resource)
  }

  get resources(): string[] {
    return [...this.#resources]
  }

  /** Answers 404 for the resource from now on, for one tenant or for all. */
  switchOff(resource: string, tenant?: number): void {
    ;(tenant === undefined ? this.#off : this.tenant(tenant).off).add(resource)
  }

  switchOn(resource: string, tenant?: number): void {
    ;(tenant === undefined ? this.#off : this.tenant(tenant).off).delete(resource)
  }

  offers(tenant: Tenant, resource: string): boolean {
    return this.#resources.has(resource) && !this.#off.has(resource) && !tenant.off.has(resource)
  }

  // Records

  /** Stores the record exactly as given; nothing is stamped. bigints stand for integers beyond 2^53. */
  put(tenant: number, resource: string, record: Fields, options: PutOptions = {}): void {
    const at = options.at ?? record['updated_at']
    const micros = typeof at === 'string' ? parseInstant(at) : undefined
    const key = options.key ?? this.#keyOf(record['id'])
    this.putText(tenant, resource, encode(record), key, micros ?? this.stamp())
  }

  putText(tenant: number, resource: string, text: string, key: number, micros: Micros): void {
    const collection = this.collection(tenant, resource)
    const action = collection.get(key) === undefined ? 'created' : 'updated'
    collection.put(this.entry(text, key, micros))
    this.#tell({ action, tenant, resource, id: key })
  }

  entry(text: string, key: number, micros: Micros): Entry {
    this.#seq += 1
    return { key, micros, seq: this.#seq, text }
  }

  /** Puts an entry back without a change of its content or its updated_at. */
  putEntry(tenant: number, resource: string, entry: Entry): void {
    this.putText(tenant, resource, entry.text, entry.key, entry.micros)
  }

  remove(tenant: number, resource: string, id: number): boolean {
    const entry = this.collection(tenant, resource).remove(id)
    if (entry === undefined) return false
    this.tenant(tenant).buried.push({ resource, entry })
    this.#tell({ action: 'deleted', tenant, resource, id })
    return true
  }

  get(tenant: number, resource: string, id: number): ApiRecord | undefined {
    const entry = this.collection(tenant, resource).get(id)
    return entry === undefined ? undefined : decode(this.print(entry))
  }

  /** The record as it is stored, whatever format the API prints timestamps in. */
  stored(tenant: number, resource: string, id: number): ApiRecord | undefined {
    const entry = this.collection(tenant, resource).get(id)
    return entry === undefined ? undefined : decode(entry.text)
  }

  /** Every record as the API would print it now, newest updated_at first. */
  all(tenant: number, resource: string): ApiRecord[] {
    const collection = this.collection(tenant, resource)
    return collection.newest(0, collection.size).map((entry) => decode(this.print(entry)))
  }

  ids(tenant: number, resource: string): number[] {
    return this.collection(tenant, resource).keys()
  }

  count(tenant: number, resource: string): number {
    return this.collection(tenant, resource).size
  }

  /** Without a tenant: everything, tenants, grants, switches and made-up resources included. */
  clear(tenant?: number): void {
    if (tenant !== undefined) {
      this.tenant(tenant).clear()
      return
    }
    this.#tenants.clear()
    this.#off.clear()
    this.#resources.clear()
    for (const resource of RESOURCES) this.#resources.add(resource)
    this.#seq = 0
    this.#child = CHILD_IDS
    this.shuffleTies = false
  }

  collection(tenant: number, resource: string): Collection {
    if (!this.#resources.has(resource))
      throw new Error(`no resource ${resource}: call register('${resource}') first`)
    return this.tenant(tenant).collection(resource)
  }

  childId(): number {
    this.#child += 1
    return this.#child
  }

  print(entry: Entry): string {
    return reprint(entry.text, this.#format)
  }

  // Time

  /** The clock's time, but always later than the last stamp: no two changes share one by accident. */
  stamp(): Micros {
    const now = this.clock.nowMicros()
    this.#stamped = now > this.#stamped ? now : this.#stamped + 1n
    return this.#stamped
  }

  /** Changes fields of a record and stamps it; an explicit instant makes ties and late commits. */
  change(tenant: number, resource: string, id: number, fields: Fields, at?: Micros): boolean {
    const record = this.stored(tenant, resource, id)
    if (record === undefined) return false
    const micros = at ?? this.stamp()
    const changed = { ...record, ...fields, updated_at: printInstant(micros) }
    this.putText(tenant, resource, encode(changed), id, micros)
    return true
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change)
  }

  #keyOf(id: unknown): number {
    if (typeof id === 'number' && Number.isSafeInteger(id)) return id
    if (typeof id === 'string' && /^\d{1,15}$/.test(id)) return Number(id)
    this.#seq += 1
    return -this.#seq
  }
}
