/** Seeded random numbers (mulberry32): the same seed produces the same numbers on every machine. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** Both ends included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.next() * items.length)]
    if (item === undefined && items.length === 0) throw new Error('pick: nothing to pick from')
    return item as T
  }

  /** An index, chosen with the probability given by its weight. */
  weighted(weights: readonly number[]): number {
    let rest = this.next() * weights.reduce((sum, weight) => sum + weight, 0)
    for (let index = 0; index < weights.length; index += 1) {
      rest -= weights[index] ?? 0
      if (rest < 0) return index
    }
    return weights.length - 1
  }

  /** `count` different items, or all of them if there are fewer. */
  sample<T>(items: readonly T[], count: number): T[] {
    const rest = [...items]
    const chosen: T[] = []
    while (chosen.length < count && rest.length > 0)
      chosen.push(...rest.splice(Math.floor(this.next() * rest.length), 1))
    return chosen
  }

  digits(count: number): string {
    let text = ''
    for (let i = 0; i < count; i += 1) text += String(this.integer(0, 9))
    return text
  }
}
