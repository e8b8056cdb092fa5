/**
 * Things that no well-behaved list does: another order, records that appear twice, are counted but not shown, have left
 * the list but can still be read by id, or break each response that would show them. Scripts set them (motion.ts); http/lists.ts responds accordingly.
 */
import type { Micros } from '../instant.js'

/** What a list is ordered by. */
export interface ListPlace {
  readonly key: number
  readonly micros: Micros
  /** The order of arrival: of two records with the same updated_at, the later arrival is newer. */
  readonly seq: number
}

export const LIST_ORDERS = ['newest', 'oldest', 'id', 'seconds'] as const
type ListOrder = (typeof LIST_ORDERS)[number]

type Compare = (a: ListPlace, b: ListPlace) => number

const wholeSecond = ({ micros }: ListPlace): number => Number(micros / 1_000_000n)

/** `seconds`: newest first by the whole second, and within a second in the order of ids. */
const COMPARES: Readonly<Record<Exclude<ListOrder, 'newest'>, Compare>> = {
  oldest: (a, b) => Number(a.micros - b.micros) || a.seq - b.seq,
  id: (a, b) => a.key - b.key,
  seconds: (a, b) => wholeSecond(b) - wholeSecond(a) || a.key - b.key,
}

export class Oddities {
  order: ListOrder = 'newest'
  /** Records that are in the list a second time, this many places further down. */
  readonly twice = new Map<number, number>()
  /** Records that the total counts but no page shows. */
  readonly hidden = new Set<number>()
  /** Records that neither the pages nor the total of the list contain. */
  readonly archived = new Set<number>()
  /** Records that turn each response that would show them into a 500. */
  readonly poisoned = new Set<number>()

  get #marks() {
    return [this.twice, this.hidden, this.archived, this.poisoned]
  }

  get areAny(): boolean {
    return this.order !== 'newest' || this.#marks.some(({ size }) => size > 0)
  }

  lists({ key }: ListPlace): boolean {
    return !this.archived.has(key)
  }

  /** The list as it is paged, given the records newest first. */
  arranged<R extends ListPlace>(entries: readonly R[]): R[] {
    const places = entries.filter((entry) => this.lists(entry))
    if (this.order !== 'newest') places.sort(COMPARES[this.order])
    for (const [key, apart] of this.twice) {
      const at = places.findIndex((entry) => entry.key === key)
      const entry = places[at]
      if (entry !== undefined) places.splice(at + apart, 0, entry)
    }
    return places
  }

  /** Records of the page that are shown. */
  shown<R extends ListPlace>(page: readonly R[]): R[] {
    return page.filter(({ key }) => !this.hidden.has(key))
  }

  breaks(page: readonly ListPlace[]): boolean {
    return page.some(({ key }) => this.poisoned.has(key))
  }

  /** Removes the marks from these records, or all marks and the order as well. */
  heal(keys?: readonly number[]): void {
    if (keys === undefined) this.order = 'newest'
    for (const marks of this.#marks)
      if (keys === undefined) marks.clear()
      else for (const key of keys) marks.delete(key)
  }
}
