/**
 * An in-memory histogram with a sum. The API client measures response times with it, and a run measures how late
 * records are.
 */
export class Distribution {
  readonly #counts: number[]
  #sum = 0

  /** `bounds`: the upper bounds of the ranges, ascending. Larger values fall into one extra range. */
  constructor(readonly bounds: readonly number[]) {
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  take(value: number): void {
    const found = this.bounds.findIndex((bound) => value <= bound)
    const range = found === -1 ? this.bounds.length : found
    this.#counts[range] = (this.#counts[range] ?? 0) + 1
    this.#sum += value
  }

  /** Adds another distribution with the same ranges. */
  add({ counts, sum }: Pick<Distribution, 'counts' | 'sum'>): void {
    for (const [range, count] of counts.entries()) this.#counts[range] = (this.#counts[range] ?? 0) + count
    this.#sum += sum
  }

  /** Counts per range, not cumulative. The last one is for values beyond the last bound. */
  get counts(): readonly number[] {
    return this.#counts
  }

  get sum(): number {
    return this.#sum
  }
}
