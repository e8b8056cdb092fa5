import type { Int64 } from '../../schema/resource.js'
import { forever } from '../walk/cutpoint.js'
import { gain, type Move } from './histogram.js'

/**
 * Counts at cut points: how many more records newer than a cut point the source has than the warehouse has rows. Where
 * the difference is the same at both ends of a range, both sides hold as many in the range.
 */
export class Differences {
  readonly #at = new Map<string, number>([[forever, 0]])
  /** Unstorable records that the source counts, by the cut point before them. */
  readonly #odd = new Map<string, number>()

  get isEven(): boolean {
    return this.uneven === 0
  }

  /** The number of cut points at which the counts do not agree. */
  get uneven(): number {
    return [...this.#at.values()].filter((difference) => difference !== 0).length
  }

  /** The number of cut points that were counted. */
  get counted(): number {
    return this.#at.size - 1
  }

  has(cut: string): boolean {
    return this.#at.has(cut)
  }

  at(cut: string): number {
    return this.#at.get(cut) ?? 0
  }

  oddAfter(cut: string): number {
    return [...this.#odd].reduce((sum, [at, count]) => sum + (at >= cut ? count : 0), 0)
  }

  enter(cut: string, records: number, rows: number): void {
    this.#at.set(cut, records - rows - this.oddAfter(cut))
  }

  /** A change that brought the warehouse nearer to the source: the row no longer counts as a difference. */
  mended(move: Move): void {
    for (const [cut, difference] of this.#at) this.#at.set(cut, difference - gain(move, cut))
  }

  /** So many unstorable records newer than the cut point explain as much of the difference. */
  explain(records: number, at: string): void {
    if (records === 0) return
    this.#odd.set(at, (this.#odd.get(at) ?? 0) + records)
    for (const [cut, difference] of this.#at) if (cut <= at) this.#at.set(cut, difference - records)
  }
}

/** How many of the ids that a list shows can never be rows: see Sighting. */
export const oddOf = (shown: Iterable<Int64 | string>): number =>
  [...shown].filter((id) => typeof id === 'string').length
