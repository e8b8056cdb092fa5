import type { Int64 } from '../../schema/resource.js'
import { forever, gain, type Move } from './histogram.js'

/**
 * What has been counted: at each cut point, how many more records the source has that are newer than it than the
 * warehouse has rows. Where it is the same at both ends of a range, the range holds as many on both sides.
 */
export class Differences {
  readonly #at = new Map<string, number>([[forever, 0]])
  /** Records that the source counts and that can never be rows, by the cut point behind them. */
  readonly #odd = new Map<string, number>()

  get isEven(): boolean {
    return this.uneven === 0
  }

  /** At how many cut points the counts do not agree. */
  get uneven(): number {
    return [...this.#at.values()].filter((difference) => difference !== 0).length
  }

  /** Cut points that were counted. */
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

  /** The warehouse was mended: what was different before is not any more. */
  mended(move: Move): void {
    for (const [cut, difference] of this.#at)
      if (cut !== forever) this.#at.set(cut, difference - gain(move, cut))
  }

  /** So many records in front of the cut point can never be rows: they explain as much of the difference. */
  explain(records: number, at: string): void {
    if (records === 0) return
    this.#odd.set(at, (this.#odd.get(at) ?? 0) + records)
    for (const [cut, difference] of this.#at) if (cut <= at) this.#at.set(cut, difference - records)
  }
}

/** Of what a list shows, what cannot be a row: see Sighting. */
export const oddOf = (shown: Iterable<Int64 | string>): number =>
  [...shown].filter((id) => typeof id === 'string').length
