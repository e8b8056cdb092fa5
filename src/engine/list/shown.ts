import type { Int64 } from '../../../schema/resource.js'
import { isNews, pageBehind, type Seen } from './behind.js'
import { IdSet } from './idset.js'
import type { WalkPage } from './types.js'

/** The ids that the pages of one reading showed. */
export class ShownIds implements Seen {
  readonly #ids = new IdSet()
  readonly #texts = new Set<string>()
  readonly mayHide = false
  total = 0

  /** `before`: records on pages that the reading skips. */
  constructor(private readonly before = 0) {}

  has(id: Int64 | string): boolean {
    return typeof id === 'string' ? this.#texts.has(id) : this.#ids.has(id)
  }

  get distinct(): number {
    return this.before + this.#ids.size + this.#texts.size
  }

  take({ observed, total }: Pick<WalkPage<unknown>, 'observed' | 'total'>): void {
    this.total = total
    for (const { id } of observed) {
      if (typeof id === 'string') this.#texts.add(id)
      else this.#ids.add(id)
    }
  }
}

/**
 * Whether another page follows a first page that, by its total, is everything. One may follow if the page is full.
 * `next`: requests the second page.
 */
export async function goesOn<P>(
  page: WalkPage<P>,
  perPage: number,
  next: () => Promise<WalkPage<P>>,
): Promise<boolean> {
  if (page.total > page.records || page.records < perPage) return false
  const second = await pageBehind(next())
  const shown = new ShownIds()
  shown.take(page)
  return second !== undefined && isNews(second, shown)
}
