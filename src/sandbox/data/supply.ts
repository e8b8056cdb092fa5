/** What the technicians of a shop have used and the shop hasn't bought again yet: shops buy what they sell. */
export class Supply<Item> {
  readonly #used = new Map<Item, number>()

  use(item: Item, quantity: number): void {
    this.#used.set(item, (this.#used.get(item) ?? 0) + quantity)
  }

  /** The items of the next purchase, in whole units. Anything bought beyond the use counts for later. */
  buy(most: number): { readonly item: Item; readonly quantity: number }[] {
    const wanted = [...this.#used].filter(([, quantity]) => quantity > 0).slice(0, most)
    return wanted.map(([item, used]) => {
      const quantity = Math.ceil(used)
      this.#used.delete(item)
      if (quantity > used) this.#used.set(item, used - quantity)
      return { item, quantity }
    })
  }
}
