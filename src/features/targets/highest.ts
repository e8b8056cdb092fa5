/** The highest of very many, of which no more than about twice as many as are wanted are kept at a time. */
export class Highest<T> {
  /** How many were taken. */
  seen = 0
  #kept: { readonly one: T; readonly value: number }[] = []
  #least = Number.NEGATIVE_INFINITY

  /** `rest` takes what is not among the highest. */
  constructor(
    private readonly most: number,
    private readonly worth: (one: T) => number,
    private readonly rest?: Highest<T>,
  ) {}

  take(one: T): void {
    this.seen++
    const value = this.worth(one)
    if (value > this.#least) this.#kept.push({ one, value })
    else this.rest?.take(one)
    if (this.#kept.length > 2 * this.most + 100) this.#cut()
  }

  #cut(): void {
    this.#kept.sort((a, b) => b.value - a.value)
    for (const { one } of this.#kept.splice(this.most)) this.rest?.take(one)
    this.#least = this.#kept[this.most - 1]?.value ?? this.#least
  }

  /** The highest first; among equals, what came first. */
  end(): T[] {
    this.#cut()
    return this.#kept.map(({ one }) => one)
  }
}
