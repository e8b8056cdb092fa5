/**
 * The ids that readings of a list showed, and what they reveal about it. Used where no books can be kept (plain.ts).
 */
import type { Int64 } from '../../../schema/resource.js'
import { anomalyOf } from './anomalies.js'
import type { Seen } from './behind.js'
import type { StillList } from './countmismatch.js'
import { IdSet } from './idset.js'
import type { ObservedRecord } from './observed.js'

/** FNV-1a over 64 bits: enough to tell a list that moved from one that didn't. */
function digest(before: bigint, text: string): bigint {
  let hash = before ^ 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  return hash
}

/** The ids of one reading, or of several. `before`: what the earlier pages showed. */
export class Ids implements Seen {
  #versions = 0n
  readonly #numbers = new IdSet()
  readonly #texts = new Set<string>()
  readonly #again = new Set<Int64>()
  #beside = 0
  /** A page showed records again, perhaps in place of others with the same time. */
  mayHide: boolean
  total = 0

  constructor(private readonly before?: Seen) {
    this.mayHide = before?.mayHide ?? false
  }

  has(id: Int64 | string): boolean {
    if (this.before?.has(id)) return true
    return typeof id === 'string' ? this.#texts.has(id) : this.#numbers.has(id)
  }

  get distinct(): number {
    return (this.before?.distinct ?? 0) + this.#numbers.size + this.#texts.size
  }

  /** Enters a page. Returns how many of its records no earlier page showed. */
  take(observed: readonly ObservedRecord[]): number {
    let fresh = 0
    for (const { id, updatedAt } of observed) {
      if (this.has(id)) {
        if (typeof id !== 'string' && !this.before?.has(id)) this.#again.add(id)
        continue
      }
      fresh++
      if (typeof id !== 'string') {
        this.#numbers.add(id)
        this.#versions = digest(this.#versions, `${id} ${updatedAt}`)
      } else {
        this.#texts.add(id)
        if (anomalyOf(id) === 'repeated') this.#beside++
      }
    }
    return fresh
  }

  /** Digest of the versions, in their order. */
  get versions(): string {
    return `${this.#numbers.size} ${this.#texts.size} ${this.#versions}`
  }

  /**
   * `other`: another reading. Records that only one of the two shows again were cut by pages, or the list has moved.
   */
  numbers(total: number, other?: Ids): StillList {
    const shown = this.distinct - this.#beside
    const again = [...this.#again].filter((id) => !other || other.#again.has(id))
    const twice = again.length + this.#beside
    return { total, shown, twice, hidden: total - shown - twice }
  }
}
