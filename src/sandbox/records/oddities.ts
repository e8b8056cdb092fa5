/**
 * What a list does that no honest list does: another order, records that stand twice, are counted and not shown, or
 * break each answer that would show them. Scripts set it (motion.ts); http/lists.ts answers accordingly.
 */
import type { Micros } from '../instant.js'

/** What the order of a list goes by. */
export interface ListPlace {
  readonly key: number
  readonly micros: Micros
  /** The order of arrival: of two records with one updated_at, the later arrival is the newer. */
  readonly seq: number
}

export const LIST_ORDERS = ['newest', 'oldest', 'id', 'seconds'] as const
export type ListOrder = (typeof LIST_ORDERS)[number]

type Compare = (a: ListPlace, b: ListPlace) => number

const wholeSecond = ({ micros }: ListPlace): number => Number(micros / 1_000_000n)

/** `seconds`: newest first by the whole second; within a second in the order of the ids. */
const COMPARES: Readonly<Record<Exclude<ListOrder, 'newest'>, Compare>> = {
  oldest: (a, b) => Number(a.micros - b.micros) || a.seq - b.seq,
  id: (a, b) => a.key - b.key,
  seconds: (a, b) => wholeSecond(b) - wholeSecond(a) || a.key - b.key,
}

/** The oddities of one list. */
export class Oddities {
  order: ListOrder = 'newest'
  /** Records that stand in the list a second time: so many places further down. */
  readonly twice = new Map<number, number>()
  /** Records that the total counts and that no page shows. */
  readonly hidden = new Set<number>()
  /** Records that make each answer that would show them a 500. */
  readonly poisoned = new Set<number>()

  get areAny(): boolean {
    return this.order !== 'newest' || this.twice.size + this.hidden.size + this.poisoned.size > 0
  }

  /** The list as it is paged, from the records newest first. */
  arranged<R extends ListPlace>(entries: readonly R[]): R[] {
    const places = [...entries]
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

  /** Takes the marks from these records, or all of them and the order too. */
  heal(keys?: readonly number[]): void {
    if (keys === undefined) this.order = 'newest'
    for (const marks of [this.twice, this.hidden, this.poisoned])
      if (keys === undefined) marks.clear()
      else for (const key of keys) marks.delete(key)
  }
}
