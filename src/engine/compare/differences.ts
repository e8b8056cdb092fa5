import { addOdd, noneOdd, type OddCounts, sumOdd } from '../walk/anomalies.js'
import { forever } from '../walk/cutpoint.js'
import { gain, type Move } from './histogram.js'

/**
 * Counts at cut points: how many more records newer than a cut point the source has than the warehouse has rows. Where
 * the difference is the same at both ends of a range, both sides hold as many in the range.
 */
export class Differences {
  readonly #at = new Map<string, number>([[forever, 0]])
  /** What the source counts and can never be a row, by the cut point before it. */
  readonly #odd = new Map<string, OddCounts>()

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

  oddAfter(cut: string): OddCounts {
    return [...this.#odd].reduce((sum, [at, odd]) => (at >= cut ? addOdd(sum, odd) : sum), noneOdd)
  }

  enter(cut: string, records: number, rows: number): void {
    this.#at.set(cut, records - rows - sumOdd(this.oddAfter(cut)))
  }

  /** A change that brought the warehouse nearer to the source: the row no longer counts as a difference. */
  mended(move: Move): void {
    for (const [cut, difference] of this.#at) this.#at.set(cut, difference - gain(move, cut))
  }

  /** So much that can never be a row, newer than the cut point, explains as much of the difference. */
  explain(odd: OddCounts, at: string): void {
    const records = sumOdd(odd)
    if (records === 0) return
    this.#odd.set(at, addOdd(this.#odd.get(at) ?? noneOdd, odd))
    for (const [cut, difference] of this.#at) if (cut <= at) this.#at.set(cut, difference - records)
  }
}
