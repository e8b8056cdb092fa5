/** The sandbox's records, tenants and grants. Used everywhere: http reads, and write, script and data change. */
import { resources } from '../../../schema/index.js'
import {
  type Micros,
  type MicrosClock,
  parseInstant,
  printInstant,
  type TimestampFormat,
} from '../instant.js'
import type { Collection, StoredRecord } from './collection.js'
import { type ApiRecord, decode, encode, type Fields, reprint } from './json.js'
import { type Action, parentOf, RECORD_LISTS } from './resources.js'
import { Tenant, type TenantOptions } from './tenant.js'

export interface StoreChange {
  readonly action: Action
  readonly tenant: number
  readonly resource: string
  readonly id: number
}

/** Called for each change, with the previous record. */
type ChangeListener = (change: StoreChange, previous: StoredRecord | undefined) => void

export interface PutOptions {
  /** The instant by which the record is ordered, if its own updated_at is absent or different. */
  readonly at?: string
  /** The id by which get, remove and GET find the record, if its own id is unusable or a duplicate. */
  readonly key?: number
}

/** Nested items that are made while the sandbox runs have ids from here up, above the ids of generated items. */
const CHILD_IDS = 90_000_000

/** The current records of all tenants. Every change to a record goes through this class. */
export class Store {
  readonly #tenants = new Map<number, Tenant>()
  readonly #registered = new Set<string>()
  readonly #off = new Set<string>()
  readonly #listeners = new Set<ChangeListener>()
  #seq = 0
  #stamped: Micros = 0n
  #child = CHILD_IDS
  /** While true, records with the same updated_at come in a different order in each response. */
  shuffleTies = false

  constructor(
    readonly clock: MicrosClock,
    private readonly format?: TimestampFormat,
  ) {}

  // Tenants and grants

  addTenant(options: TenantOptions): void {
    if (this.#tenants.has(options.id)) throw new Error(`tenant ${options.id} exists already`)
    this.#tenants.set(options.id, new Tenant(options))
  }

  /** Removes the tenant from the authorizations; its paths return 404. Its records stay. */
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

  /** Serves a list of records that no file of schema/ declares. */
  register(resource: string): void {
    this.#registered.add(resource)
  }

  /** Every list of records that the sandbox serves. */
  get resources(): string[] {
    return [...RECORD_LISTS.map(({ name }) => name), ...this.#registered]
  }

  /** Returns 404 for the resource from now on, for one tenant or for all. */
  switchOff(resource: string, tenant?: number): void {
    ;(tenant === undefined ? this.#off : this.tenant(tenant).off).add(resource)
  }

  switchOn(resource: string, tenant?: number): void {
    ;(tenant === undefined ? this.#off : this.tenant(tenant).off).delete(resource)
  }

  offers(tenant: Tenant, resource: string): boolean {
    const isOn = (name: string): boolean => !this.#off.has(name) && !tenant.off.has(name)
    return this.#isKnown(resource) && isOn(resource) && isOn(parentOf(resource))
  }

  // Records

  /** Stores the record exactly as given, without a stamp. A bigint represents an integer beyond 2^53. */
  put(tenant: number, resource: string, record: Fields, options: PutOptions = {}): void {
    const at = options.at ?? record['updated_at']
    const micros = typeof at === 'string' ? parseInstant(at) : undefined
    const key = options.key ?? this.#keyOf(record['id'])
    this.putText(tenant, resource, encode(record), key, micros ?? this.stamp())
  }

  putText(tenant: number, resource: string, text: string, key: number, micros: Micros): void {
    const collection = this.collection(tenant, resource)
    const previous = collection.current(key)
    const action = previous === undefined ? 'created' : 'updated'
    collection.put(this.entry(text, key, micros))
    this.#tell({ action, tenant, resource, id: key }, previous)
  }

  entry(text: string, key: number, micros: Micros): StoredRecord {
    this.#seq += 1
    return { key, micros, seq: this.#seq, text }
  }

  remove(tenant: number, resource: string, id: number): boolean {
    const entry = this.collection(tenant, resource).remove(id)
    if (entry === undefined) return false
    this.tenant(tenant).buried.push({ resource, entry })
    this.#tell({ action: 'deleted', tenant, resource, id }, entry)
    return true
  }

  get(tenant: number, resource: string, id: number): ApiRecord | undefined {
    const text = this.printed(tenant, resource, id)
    return text === undefined ? undefined : decode(text)
  }

  /** The record exactly as the API prints it. */
  printed(tenant: number, resource: string, id: number): string | undefined {
    const entry = this.collection(tenant, resource).current(id)
    return entry === undefined ? undefined : this.print(entry)
  }

  /** The record as stored, with all digits of its timestamps. */
  stored(tenant: number, resource: string, id: number): ApiRecord | undefined {
    const entry = this.collection(tenant, resource).current(id)
    return entry === undefined ? undefined : decode(entry.text)
  }

  /** Every record as the API prints it, newest updated_at first. */
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

  /** Removes the records of one tenant, or else everything: tenants, grants, switches, registered resources. */
  clear(tenant?: number): void {
    if (tenant !== undefined) {
      this.tenant(tenant).clear()
      return
    }
    this.#tenants.clear()
    this.#off.clear()
    this.#registered.clear()
    this.#seq = 0
    this.#child = CHILD_IDS
    this.shuffleTies = false
  }

  collection(tenant: number, resource: string): Collection {
    if (!this.#isKnown(resource))
      throw new Error(`no resource ${resource}: call register('${resource}') first`)
    return this.tenant(tenant).collection(resource)
  }

  childId(): number {
    this.#child += 1
    return this.#child
  }

  print(entry: Pick<StoredRecord, 'text'>): string {
    return reprint(entry.text, this.format)
  }

  // Time

  /** The clock's time, or one microsecond after the last stamp: no two changes share an updated_at by accident. */
  stamp(): Micros {
    const now = this.clock.nowMicros()
    this.#stamped = now > this.#stamped ? now : this.#stamped + 1n
    return this.#stamped
  }

  /** Changes fields of a record and stamps it. Scripts pass the instant themselves, for ties and late commits. */
  change(tenant: number, resource: string, id: number, fields: Fields, at?: Micros): boolean {
    const record = this.stored(tenant, resource, id)
    if (record === undefined) return false
    const micros = at ?? this.stamp()
    const changed = { ...record, ...fields, updated_at: printInstant(micros) }
    this.putText(tenant, resource, encode(changed), id, micros)
    return true
  }

  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(change: StoreChange, previous: StoredRecord | undefined): void {
    for (const listener of this.#listeners) listener(change, previous)
  }

  #isKnown(resource: string): boolean {
    return Object.hasOwn(resources, resource) || this.#registered.has(resource)
  }

  #keyOf(id: unknown): number {
    if (typeof id === 'number' && Number.isSafeInteger(id)) return id
    if (typeof id === 'string' && /^\d{1,15}$/.test(id)) return Number(id)
    this.#seq += 1
    return -this.#seq
  }
}
