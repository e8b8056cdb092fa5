/**
 * Reads a list whose order or total cannot be relied on: every page in turn, again until the ids agree with a total
 * that stood still. Walk (walk.ts) falls back to it.
 */
import type { Int64 } from '../../schema/resource.js'
import type { Book } from './books.js'
import { ceilingOf } from './clocks.js'
import { IdSet } from './idset.js'
import { outcomeOf } from './judge.js'
import { nothingOdd, oddityOf } from './oddities.js'
import type { Sighting } from './sightings.js'
import { isKnownSurplus, isSameList, type StillList } from './surplus.js'
import type { WalkOutcome, WalkPage } from './types.js'
import type { WalkState } from './walkstate.js'

/** Why a list is read so: it is not newest first, or it has no total that can be relied on. */
export type PlainCause = 'order' | 'no_count'

/** FNV-1a over 64 bits: enough to tell a list that moved from one that did not. */
function digest(before: bigint, text: string): bigint {
  let hash = before ^ 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  return hash
}

/** The ids of one reading, or of several. */
class Ids {
  #versions = 0n
  readonly #numbers = new IdSet()
  readonly #texts = new Set<string>()
  readonly #again = new Set<Int64>()
  #beside = 0

  take(sightings: readonly Sighting[]): number {
    let fresh = 0
    for (const { id, updatedAt } of sightings) {
      if (typeof id !== 'string') {
        if (this.#numbers.add(id)) {
          this.#versions = digest(this.#versions, `${id} ${updatedAt}`)
          fresh++
        } else this.#again.add(id)
      } else if (!this.#texts.has(id)) {
        this.#texts.add(id)
        if (oddityOf(id) === 'repeated') this.#beside++
        fresh++
      }
    }
    return fresh
  }

  /** Digest of the versions, in their order. */
  get versions(): string {
    return `${this.#numbers.size} ${this.#texts.size} ${this.#versions}`
  }

  numbers(total: number): StillList {
    const shown = this.#numbers.size + this.#texts.size - this.#beside
    const twice = this.#again.size + this.#beside
    return { total, shown, twice, hidden: total - shown - twice }
  }
}

/** One reading, after its last page. */
interface PlainReading<P> {
  readonly last: WalkPage<P>
  /** Every response had the same total. */
  readonly isSteady: boolean
  readonly ids: Ids
}

/** Where the first reading begins. */
export interface PlainBegin<P> {
  /** A walk that found its list longer than the total goes on where it ended. */
  readonly from: number
  /** That page, if it has come already. */
  readonly page?: WalkPage<P>
  /** Newest `updated_at` of the walk's first response, if that came before. */
  readonly ceiling?: string
  /** Distinct records on the pages before. */
  readonly shown?: number
}

/** The list of one walk, read plainly. */
class PlainWalk<P> {
  #ceiling: string | null = null
  #first = 0
  #shownBefore = 0
  /** The ids of all readings since the total last changed. */
  #union = new Ids()
  #unionTotal = -1

  constructor(
    private readonly walk: WalkState<P>,
    private readonly cause: PlainCause,
  ) {}

  async run(begin: PlainBegin<P>): Promise<WalkOutcome> {
    const { port, plan } = this.walk
    this.#ceiling = begin.ceiling ?? null
    this.#shownBefore = begin.shown ?? 0
    let before: StillList | undefined
    let outcome: WalkOutcome | undefined
    for (const [i, perPage] of plan.pageSizes.entries()) {
      const reading = await this.#read(perPage, i === 0 ? begin : { from: 1 })
      const now = reading.isSteady ? reading.ids.numbers(reading.last.total) : undefined
      outcome = this.#judge(reading, now, before)
      await port.store(reading.last, outcome.verdict === 'unproven' ? {} : { progress: null, outcome })
      if (outcome.verdict !== 'unproven') return outcome
      before = now
    }
    return outcome ?? this.#outcome('unproven', { total: 0, shown: 0, twice: 0, hidden: 0 })
  }

  /** undefined: the two readings do not show the same versions in the same order, or the total stood still. */
  async runTwice(ceiling: string): Promise<WalkOutcome | undefined> {
    const { port, plan } = this.walk
    const [first = 100, second = first] = plan.pageSizes
    this.#ceiling = ceiling
    const one = await this.#read(first, { from: 1 })
    await port.store(one.last, {})
    const two = await this.#read(second, { from: 1 })
    const isStill = one.ids.versions === two.ids.versions && !(one.isSteady && two.isSteady)
    const outcome = isStill ? this.#outcome('listed', two.ids.numbers(two.last.total), true) : undefined
    await port.store(two.last, outcome ? { progress: null, outcome } : {})
    return outcome
  }

  async #read(perPage: number, { from, page: given }: PlainBegin<P>): Promise<PlainReading<P>> {
    const { port } = this.walk
    const ids = new Ids()
    const totals = new Set<number>()
    let budget = Number.POSITIVE_INFINITY
    for (let k = from, isEnd = false; !isEnd && budget > 0; k++, budget--) {
      const page = k === from && given ? given : await port.fetch(k, perPage)
      // Pages of an endless list would be asked for without end.
      if (k === from) budget = 3 * page.totalPages + 100
      this.#ceiling ??= ceilingOf(page)
      if (totals.size === 0 && this.#first === 0) this.#first = page.total
      totals.add(page.total)
      this.#enter(page)
      this.walk.noteStamps(page)
      const fresh = ids.take(page.sightings)
      await port.store(page, k === from ? { progress: null } : {})
      // A source that counts nothing may answer any page with its last one.
      const isPastTotal = page.records < perPage || fresh === 0
      isEnd = this.cause === 'order' ? k >= page.totalPages || page.records === 0 : isPastTotal
    }
    const last = await port.fetch(1, perPage)
    totals.add(last.total)
    return { last, isSteady: totals.size === 1, ids }
  }

  #enter({ total, sightings, holes = [] }: WalkPage<P>): void {
    if (total !== this.#unionTotal) this.#union = new Ids()
    this.#unionTotal = total
    this.#union.take(sightings)
    for (const hole of holes) this.walk.holes.set(`${hole.after} ${hole.until}`, hole)
  }

  #judge(
    { last, ids }: PlainReading<P>,
    now: StillList | undefined,
    before: StillList | undefined,
  ): WalkOutcome {
    const shown = now ?? ids.numbers(last.total)
    if (this.cause === 'no_count') return this.#outcome('listed', shown)
    if (!now) return this.#outcome('unproven', shown)
    const union = this.#union.numbers(last.total)
    if (now.twice === 0 && now.hidden === 0) return this.#outcome('repaired', now)
    // Where the order changes from page to page, the readings together have to show everything.
    if (union.shown === now.total) return this.#outcome('repaired', union)
    const isSettled = before && isSameList(before, now) && union.shown === now.shown
    const isKnown = isKnownSurplus(now, this.walk.plan.known, false)
    return this.#outcome(now.hidden === 0 && (isSettled || isKnown) ? 'repaired' : 'unproven', now)
  }

  #outcome(
    verdict: WalkOutcome['verdict'],
    { total, shown, twice }: StillList,
    isUnsteady = this.walk.plan.known?.isUnsteady ?? false,
  ): WalkOutcome {
    const isOrder = this.cause === 'order'
    return this.walk.tell({
      verdict,
      ceiling: this.#ceiling,
      reason: this.cause,
      books: { first: this.#first, last: total, distinct: this.#shownBefore + shown, entered: 0, fallen: 0 },
      finding: {
        ...nothingOdd,
        twice,
        isUnordered: isOrder,
        isUncounted: !isOrder,
        isUnsteady: !isOrder && isUnsteady,
        holes: [...this.walk.holes.values()],
      },
    })
  }
}

export const readPlainly = <P>(
  walk: WalkState<P>,
  cause: PlainCause,
  begin: PlainBegin<P> = { from: 1 },
): Promise<WalkOutcome> => new PlainWalk(walk, cause).run(begin)

/**
 * Whether a list whose books do not close stands still while its total does not: two readings to its end show the same
 * versions of the same records. Its total is then not true; else the books stay open. Once a walk.
 */
export async function readUnsteady<P>(walk: WalkState<P>, book: Book): Promise<WalkOutcome> {
  walk.search.isTotalDoubted = true
  const listed = await new PlainWalk(walk, 'no_count').runTwice(book.ceiling)
  return listed ?? walk.tell(outcomeOf(book, 'unproven', 'totals_disagree'))
}
