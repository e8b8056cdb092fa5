import { Collection, type Entry } from './collection.js'

export interface TenantOptions {
  readonly id: number
  /** Write access granted; default true. */
  readonly writable?: boolean
  readonly paymentTypes?: readonly string[]
}

export interface Buried {
  readonly resource: string
  readonly entry: Entry
}

/** One repair business: its records, and what the partner may do with them. */
export class Tenant {
  readonly id: number
  writable: boolean
  granted = true
  paymentTypes: readonly string[]
  readonly off = new Set<string>()
  /** Removed records, newest last, so that a script can restore them. */
  readonly buried: Buried[] = []
  readonly #collections = new Map<string, Collection>()

  constructor(options: TenantOptions) {
    this.id = options.id
    this.writable = options.writable ?? true
    this.paymentTypes = options.paymentTypes ?? []
  }

  collection(resource: string): Collection {
    let collection = this.#collections.get(resource)
    if (collection === undefined) {
      collection = new Collection()
      this.#collections.set(resource, collection)
    }
    return collection
  }

  clear(): void {
    this.#collections.clear()
    this.buried.length = 0
  }
}
