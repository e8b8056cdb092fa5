/**
 * How values are spread over ranges, and what they come to: a histogram that is gathered in memory. The API client
 * measures answers with it, and a run the lateness of records.
 */
export class Distribution {
  readonly #counts: number[]
  #sum = 0

  /** `bounds`: the upper ends of the ranges, ascending; what is larger than the last falls into one more range. */
  constructor(readonly bounds: readonly number[]) {
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  take(value: number): void {
    const found = this.bounds.findIndex((bound) => value <= bound)
    const range = found === -1 ? this.bounds.length : found
    this.#counts[range] = (this.#counts[range] ?? 0) + 1
    this.#sum += value
  }

  /** Takes what another one of the same ranges has taken. */
  add({ counts, sum }: Pick<Distribution, 'counts' | 'sum'>): void {
    for (const [range, count] of counts.entries()) this.#counts[range] = (this.#counts[range] ?? 0) + count
    this.#sum += sum
  }

  /** Values by range, the ones beyond the last bound at the end; no range counts those of another. */
  get counts(): readonly number[] {
    return this.#counts
  }

  get sum(): number {
    return this.#sum
  }
}
