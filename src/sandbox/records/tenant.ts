import { Collection, type StoredRecord } from './collection.js'

export interface TenantOptions {
  readonly id: number
  /** Whether the partner may write; default true. */
  readonly writable?: boolean
  /** The content of each list of strings, by resource. */
  readonly strings?: Readonly<Record<string, readonly string[]>>
}

interface Buried {
  readonly resource: string
  readonly entry: StoredRecord
}

/** One repair business: its records, and what the partner may do with them. */
export class Tenant {
  readonly id: number
  writable: boolean
  granted = true
  readonly strings: Map<string, readonly string[]>
  readonly off = new Set<string>()
  /** Removed records, newest last, so a script can restore them. */
  readonly buried: Buried[] = []
  /** Makes the records when a list is first asked for. */
  fill: (() => void) | undefined
  readonly #collections = new Map<string, Collection>()

  constructor(options: TenantOptions) {
    this.id = options.id
    this.writable = options.writable ?? true
    this.strings = new Map(Object.entries(options.strings ?? {}))
  }

  collection(resource: string): Collection {
    const { fill } = this
    this.fill = undefined
    fill?.()
    const collection = this.#collections.get(resource) ?? new Collection()
    this.#collections.set(resource, collection)
    return collection
  }

  clear(): void {
    this.fill = undefined
    this.#collections.clear()
    this.buried.length = 0
  }
}
