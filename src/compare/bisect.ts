import type { Int64 } from '../../schema/resource.js'
import { epoch } from '../walk/books.js'
import { RangeWalk } from '../walk/range.js'
import type { WalkPage } from '../walk/walk.js'
import type { Candidate, ComparePort, Comparison } from './comparison.js'
import { bisectCost, closerGrid, fullCost, gridSize, listCost, pageRecords } from './cost.js'
import { Differences, oddOf } from './differences.js'
import { forever, type Move, RowHistogram } from './histogram.js'

/** A range whose ends were counted, and what it will cost to look into it. */
interface CountedSpan {
  readonly lo: string
  readonly hi: string
  readonly cost: number
}

/** How often a comparison is made where the source moves meanwhile. */
const rounds = 4

/**
 * Finds where warehouse and source differ by asking how many records are newer than t, at cut points that part the
 * warehouse's rows evenly. Where the difference of the counts is the same at both ends of a range, the range holds as
 * many records on both sides; where not, the range is parted, until listing what is left costs less.
 *
 * The source may move meanwhile. What is created or updated goes to the front of the list, and every answer shows the
 * newest record of all: if that one is not known, the answer is asked for again as a whole page, which goes into the
 * warehouse before it is compared with it, so that both speak of one moment. What is deleted meanwhile, or what comes
 * late, shows as a difference somewhere: then it is looked at again. Nothing is concluded from a count alone.
 */
export class Bisection<P> {
  #differences = new Differences()
  #ledger = new RowHistogram([])
  /** The newest records that are known to stand at the front, as the source printed them. */
  #front = new Map<Int64 | string, string>()
  #newest = ''
  #listed = 0
  #requests = 0

  constructor(private readonly port: ComparePort<P>) {}

  async run(): Promise<Comparison> {
    this.#ledger = new RowHistogram(await this.port.cells(epoch, forever))
    const rows = this.#ledger.after(epoch)
    if (rows > pageRecords && fullCost(rows) <= 1 + gridSize(rows)) return this.#ended('listing')
    if (!(await this.#recall())) return this.#ended('listing')
    for (let round = 1; round <= rounds; round++) {
      if (round > 1) await this.#again()
      else if (await this.#open()) break
      if ((await this.#compare(round === 1)) === 'listing') return this.#ended('listing')
      if (this.#differences.isEven) break
    }
    return this.#ended('counting')
  }

  #ended(method: Comparison['method']): Comparison {
    return {
      method,
      isEven: this.#differences.isEven,
      odd: this.#differences.oddAfter(epoch),
      source: this.#sourceAfter(epoch),
      warehouse: this.#ledger.after(epoch),
      counted: this.#differences.counted,
      listed: this.#listed,
    }
  }

  /** What the source counts, going by the last comparison there. */
  #sourceAfter(cut: string): number {
    if (cut === forever) return 0
    return this.#ledger.after(cut) + this.#differences.oddAfter(cut) + this.#differences.at(cut)
  }

  /** The newest page of all: it brings what has come since, and may be the whole list. Says whether all is done. */
  async #open(): Promise<boolean> {
    const page = await this.#fetch(epoch, 1, pageRecords)
    await this.#absorb(page)
    this.#differences.enter(epoch, page.total, this.#ledger.after(epoch))
    if (page.total > page.records) return false
    const rows = await this.port.rows(epoch, forever)
    const shown = new Set(page.sightings.map(({ id }) => id))
    this.#differences.explain(oddOf(shown), epoch)
    await this.#settle([...rows].flatMap(([id, updatedAt]) => (shown.has(id) ? [] : [{ id, updatedAt }])))
    this.#listed++
    return this.#differences.isEven
  }

  /**
   * A row that was lost and a record that was deleted cancel out in the counts. So what the warehouse knows to have
   * lost is brought back first, wherever it was.
   */
  async #recall(): Promise<boolean> {
    const moves = await this.port.recall()
    if (moves) this.#moved(moves)
    return moves !== undefined
  }

  /** Another look at what did not come out even: the warehouse and the source may both have moved. */
  async #again(): Promise<void> {
    this.port.note('Counts do not agree: records moved meanwhile; comparing again', {
      cut_points: this.#differences.uneven,
    })
    await this.port.refresh()
    this.#ledger = new RowHistogram(await this.port.cells(epoch, forever))
    this.#differences = new Differences()
    await this.#absorb(await this.#fetch(epoch, 1, pageRecords))
  }

  async #compare(mayList: boolean): Promise<'listing' | 'done'> {
    const grid = [epoch, forever]
    const rows = this.#ledger.after(epoch)
    let open = await this.#part(grid, gridSize(rows))
    // Where there is a difference there may be others, and of different signs: they are looked for more closely.
    if (open.length > 0) {
      if (mayList && this.#isDearerThanAll(open, closerGrid(rows))) return 'listing'
      open = await this.#part(grid, closerGrid(rows))
    }
    const missing: Candidate[] = []
    for (;;) {
      if (mayList && this.#isDearerThanAll(open)) return 'listing'
      const span = open.pop()
      if (!span) break
      const { lo, hi } = span
      if (this.#off(lo, hi) === 0) continue
      const middle = await this.#middle(lo, hi)
      if (middle === undefined) missing.push(...(await this.#list(lo, hi)))
      else {
        if (!this.#differences.has(middle)) await this.#probe(middle)
        open.push(...this.#span(lo, middle), ...this.#span(middle, hi))
      }
    }
    await this.#settle(missing)
    return 'done'
  }

  /** Counts at the places of another grid; returns the ranges in which there is a difference. */
  async #part(cuts: string[], size: number): Promise<CountedSpan[]> {
    cuts.splice(0, cuts.length, ...new Set([...cuts, ...this.#grid(size)].sort()))
    for (const cut of cuts) if (!this.#differences.has(cut)) await this.#probe(cut)
    return cuts.slice(1).flatMap((hi, i) => this.#span(cuts[i] ?? epoch, hi))
  }

  /** Places at random, one in each of so many equal parts: what one run cannot see, another does. */
  #grid(size: number): string[] {
    const rows = this.#ledger.after(epoch)
    const places = Array.from({ length: size }, (_, i) => ((i + this.port.random()) * rows) / size)
    return places.flatMap((place) => this.#ledger.cutAt(Math.max(1, place)) ?? [])
  }

  /** How many more records than rows a range holds. */
  #off(lo: string, hi: string): number {
    return this.#differences.at(lo) - this.#differences.at(hi)
  }

  #records(lo: string, hi: string): number {
    const rows = this.#ledger.between(lo, hi)
    return Math.max(rows, rows + this.#off(lo, hi))
  }

  /** The range, if it is to be looked into. */
  #span(lo: string, hi: string): CountedSpan[] {
    const off = Math.abs(this.#off(lo, hi))
    const records = this.#records(lo, hi)
    return off === 0 ? [] : [{ lo, hi, cost: Math.min(listCost(records), bisectCost(records, off)) }]
  }

  /** Whether listing everything costs less than is left to do, or than has been spent already. */
  #isDearerThanAll(open: readonly CountedSpan[], more = 0): boolean {
    const rest = open.reduce((sum, { cost }) => sum + cost, more)
    const all = fullCost(this.#sourceAfter(epoch))
    return rest > all || (rest > 0 && this.#requests > all)
  }

  /** Where to part a range; undefined where listing it costs no more. */
  async #middle(lo: string, hi: string): Promise<string | undefined> {
    const records = this.#records(lo, hi)
    if (listCost(records) <= bisectCost(records, Math.abs(this.#off(lo, hi)))) return undefined
    const middle = this.#ledger.middle(lo, hi)
    if (middle !== undefined) return middle
    this.#ledger.refine(lo, hi, await this.port.cells(lo, hi))
    return this.#ledger.middle(lo, hi)
  }

  async #fetch(after: string, page: number, perPage: number): Promise<WalkPage<P>> {
    this.#requests++
    return this.port.fetch(after, page, perPage)
  }

  /** Counts what is newer than the cut point on both sides, at one moment. */
  async #probe(cut: string): Promise<void> {
    let page = await this.#fetch(cut, 1, 1)
    const [newest] = page.sightings
    if (newest && this.#front.get(newest.id) !== newest.updatedAt) {
      page = await this.#fetch(cut, 1, pageRecords)
      await this.#absorb(page)
    }
    this.#differences.enter(cut, page.total, this.#ledger.after(cut))
  }

  /** Takes a first page into the warehouse. */
  async #absorb(page: WalkPage<P>): Promise<void> {
    this.#moved(await this.port.store(page))
    this.#front = new Map(page.sightings.map(({ id, updatedAt }) => [id, updatedAt]))
    for (const { updatedAt } of page.sightings) if (updatedAt > this.#newest) this.#newest = updatedAt
  }

  /** What moved to the front just now has moved on both sides; everything else was different, and is mended. */
  #moved(moves: readonly Move[]): void {
    for (const move of moves) {
      this.#ledger.move(move)
      const isNews = move.after !== null && this.#newest !== '' && move.after >= this.#newest
      if (!isNews) this.#differences.mended(move)
    }
  }

  async #settle(missing: readonly Candidate[]): Promise<void> {
    if (missing.length > 0) this.#moved(await this.port.settle(missing))
  }

  /** Lists a range, stores what the warehouse lacks of it, and returns the rows that it does not show. */
  async #list(lo: string, hi: string): Promise<Candidate[]> {
    const rows = await this.port.rows(lo, hi)
    const shown = new Set<Int64 | string>()
    const take = async (page: WalkPage<P>): Promise<void> => {
      const own = page.sightings.filter(
        ({ updatedAt }) => updatedAt > lo && (hi === forever || updatedAt <= hi),
      )
      for (const { id } of own) shown.add(id)
      if (own.some(({ id, updatedAt }) => typeof id !== 'string' && rows.get(id) !== updatedAt))
        this.#moved(await this.port.store(page))
    }
    const port = {
      fetch: (after: string, page: number, perPage: number) => this.#fetch(after, page, perPage),
      take,
      reached: async (): Promise<void> => {},
      readAhead: () => 0,
      note: (message: string, fields: Record<string, unknown>) => this.port.note(message, fields),
    }
    const [newer, total] = [this.#sourceAfter(hi), this.#sourceAfter(lo)]
    await new RangeWalk<P>(port, { after: lo, until: hi, newer, total }).run()
    this.#listed++
    this.#differences.explain(oddOf(shown), lo)
    return [...rows].flatMap(([id, updatedAt]) => (shown.has(id) ? [] : [{ id, updatedAt }]))
  }
}
