/**
 * Finds where the warehouse and the source differ, by counting. features/reconcile/comparing.ts runs one per cursor.
 */
import type { Int64 } from '../../../schema/resource.js'
import { countAnomalies, sumAnomalies } from '../list/anomalies.js'
import { epoch, forever } from '../list/cutpoint.js'
import { largestOf, pageSizes, servedSize } from '../list/pagesize.js'
import { RangeWalk } from '../list/range.js'
import { goesOn } from '../list/shown.js'
import type { List, RangeOutcome, WalkPage } from '../list/types.js'
import { type Candidate, type ComparePort, type Comparison, notShown, notTaken } from './comparison.js'
import { bisectCost, closerGrid, fullCost, gridSize, listCost } from './comparisoncost.js'
import { Differences, type Move, RowHistogram } from './histogram.js'

/** A range with counted ends, and how many requests it will cost to look into it. */
interface CountedSpan {
  readonly lo: string
  readonly hi: string
  readonly cost: number
}

/** How often to compare while the source moves. */
const rounds = 4
/** If some rows are in doubt, the counts stay uneven, however often they are compared. */
const roundsInDoubt = 2

/**
 * Queries the source for how many records are newer than t, at cut points that divide the warehouse's rows evenly. If
 * the counts differ by the same number at both ends of a range, both sides hold equally many records in it. If not, the
 * bisection divides the range until listing it costs less (docs/dev/architecture.md, What else the engine rests on).
 *
 * The source may move meanwhile. A created or updated record goes to the top of the list, and every response shows the
 * newest record. If that record is unknown, the bisection requests a whole page and stores it before it compares, so
 * both counts are of the same moment. A record that was deleted meanwhile or came late shows up as a difference, and
 * the comparison is repeated. A count alone never marks a row as deleted.
 */
export class Bisection<P> {
  #differences = new Differences()
  #rows = new RowHistogram([])
  /** The newest known records, with the `updated_at` that the source showed. */
  #top = new Map<Int64 | string, string>()
  #newest = ''
  #listed = 0
  #requests = 0
  /**
   * Records in the ranges listed so far that the source showed in a different version from their row, taken for a
   * second place.
   */
  #strays = 0
  /** The most records to request at once, and records per page. */
  readonly #most: number
  #page: number
  /** The source has shown records that its totals leave out, so no count can be trusted. */
  #isUncounted = false

  constructor(private readonly port: ComparePort<P>) {
    this.#most = largestOf(port.pageSizes ?? pageSizes)
    this.#page = Math.min(this.#most, port.known.size ?? this.#most)
  }

  async run(): Promise<Comparison> {
    this.#rows = new RowHistogram(await this.port.cells(epoch, forever))
    const rows = this.#rows.after(epoch)
    if (rows > this.#page && fullCost(rows, this.#page) <= 1 + gridSize(rows)) return this.#ended('listing')
    for (let round = 1; round <= rounds; round++) {
      if (round > 1) await this.#again()
      else if (await this.#open()) break
      if (this.#isUncounted || (await this.#compare(round === 1)) === 'listing') return this.#ended('listing')
      if (this.#differences.isEven || (round >= roundsInDoubt && this.port.inDoubt() > 0)) break
    }
    return this.#ended('counting')
  }

  #ended(method: Comparison['method']): Comparison {
    const anomalies = this.#differences.anomaliesAfter(epoch)
    return {
      method,
      isEven: this.#differences.isEven,
      anomalies,
      source: this.#sourceAfter(epoch) - anomalies.repeated - anomalies.hidden,
      warehouse: this.#rows.after(epoch),
      counted: this.#differences.counted,
      listed: this.#listed,
    }
  }

  /** The source's count at a cut point, as of the last comparison there. */
  #sourceAfter(cut: string): number {
    return (
      this.#rows.after(cut) + sumAnomalies(this.#differences.anomaliesAfter(cut)) + this.#differences.at(cut)
    )
  }

  /**
   * Reads the first page, which shows the newest records and may be the whole list. Returns true if that completes the
   * comparison.
   */
  async #open(): Promise<boolean> {
    const page = await this.#fetch(epoch, 1, this.#page)
    await this.#absorb(page)
    this.#differences.enter(epoch, page.total, this.#rows.after(epoch))
    this.#page = servedSize(page, this.#page, this.port.known.hidden) ?? this.#page
    const next = (): Promise<WalkPage<P>> => this.#fetch(epoch, 2, this.#page)
    this.#isUncounted = page.isUncounted === true || (await goesOn(page, this.#page, next))
    if (this.#isUncounted || page.total > page.records) return false
    const rows = await this.port.rows(epoch, forever)
    const shown = new Set(page.observed.map(({ id }) => id))
    this.#differences.explain(countAnomalies(shown), epoch)
    await this.#settle(notShown(rows, shown))
    this.#listed++
    return this.#differences.isEven
  }

  /** Prepares for comparing again: both the warehouse and the source may have moved. */
  async #again(): Promise<void> {
    this.port.note('Counts do not agree: records moved meanwhile; comparing again', {
      cut_points: this.#differences.uneven,
    })
    await this.port.refresh()
    this.#rows = new RowHistogram(await this.port.cells(epoch, forever))
    this.#differences = new Differences()
    this.#strays = 0
    await this.#absorb(await this.#fetch(epoch, 1, this.#page))
  }

  async #compare(mayList: boolean): Promise<'listing' | 'done'> {
    const grid = [epoch, forever]
    const rows = this.#rows.after(epoch)
    let open = await this.#part(grid, gridSize(rows))
    // Other differences of the opposite sign may be nearby; a finer grid shows them.
    if (open.length > 0) {
      if (mayList && this.#isDearerThanAll(open, closerGrid(rows))) return 'listing'
      open = await this.#part(grid, closerGrid(rows))
    }
    const missing: Candidate[] = []
    for (;;) {
      if (this.#isUncounted || (mayList && this.#isDearerThanAll(open))) return 'listing'
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

  /** Counts at about this many further cut points. Returns the ranges that differ. */
  async #part(cuts: string[], size: number): Promise<CountedSpan[]> {
    cuts.splice(0, cuts.length, ...new Set([...cuts, ...this.#grid(size)].sort()))
    for (const cut of cuts) if (!this.#differences.has(cut)) await this.#probe(cut)
    return cuts.slice(1).flatMap((hi, i) => this.#span(cuts[i] ?? epoch, hi))
  }

  /**
   * One random cut point in each of `size` equal parts: another run finds the differences that cancel out in this one.
   */
  #grid(size: number): string[] {
    const rows = this.#rows.after(epoch)
    const places = Array.from({ length: size }, (_, i) => ((i + this.port.random()) * rows) / size)
    return places.flatMap((place) => this.#rows.cutAt(Math.max(1, place)) ?? [])
  }

  /** How many more records the source has in a range than the warehouse. */
  #off(lo: string, hi: string): number {
    return this.#differences.at(lo) - this.#differences.at(hi)
  }

  #records(lo: string, hi: string): number {
    const rows = this.#rows.between(lo, hi)
    return Math.max(rows, rows + this.#off(lo, hi))
  }

  /** The range if its ends differ; otherwise empty. */
  #span(lo: string, hi: string): CountedSpan[] {
    const off = Math.abs(this.#off(lo, hi))
    const records = this.#records(lo, hi)
    return off === 0 ? [] : [{ lo, hi, cost: this.#costOf(records, off) }]
  }

  #costOf(records: number, off: number): number {
    return Math.min(listCost(records, this.#page), bisectCost(records, off, this.#page))
  }

  /** Whether listing everything costs less than the open ranges will cost, or than the comparison has cost so far. */
  #isDearerThanAll(open: readonly CountedSpan[], more = 0): boolean {
    const rest = open.reduce((sum, { cost }) => sum + cost, more)
    const all = fullCost(this.#sourceAfter(epoch), this.#page)
    return rest > all || (rest > 0 && this.#requests > all)
  }

  /** The cut point that divides a range. undefined if listing the range costs no more. */
  async #middle(lo: string, hi: string): Promise<string | undefined> {
    const records = this.#records(lo, hi)
    const off = Math.abs(this.#off(lo, hi))
    if (listCost(records, this.#page) <= bisectCost(records, off, this.#page)) return undefined
    const middle = this.#rows.middle(lo, hi)
    if (middle !== undefined) return middle
    this.#rows.refine(lo, hi, await this.port.cells(lo, hi))
    return this.#rows.middle(lo, hi)
  }

  async #fetch(after: string, page: number, perPage: number): Promise<WalkPage<P>> {
    this.#requests++
    return this.port.fetch(after, page, perPage)
  }

  /** Counts the records newer than the cut point on both sides, at the same moment. */
  async #probe(cut: string): Promise<void> {
    let page = await this.#fetch(cut, 1, 1)
    const [newest] = page.observed
    if (newest && this.#top.get(newest.id) !== newest.updatedAt) {
      page = await this.#fetch(cut, 1, this.#page)
      await this.#absorb(page)
    }
    this.#differences.enter(cut, page.total, this.#rows.after(cut))
  }

  /** Stores a first page in the warehouse, so both sides have the newest records in the same version. */
  async #absorb(page: WalkPage<P>): Promise<void> {
    this.#moved(await this.port.store(page))
    await this.#settle([])
    this.#top = new Map(page.observed.map(({ id, updatedAt }) => [id, updatedAt]))
    for (const { updatedAt } of page.observed) if (updatedAt > this.#newest) this.#newest = updatedAt
  }

  /** A row that has just moved to the top moved on both sides. Every other move fixed a difference. */
  #moved(moves: readonly Move[]): void {
    for (const move of moves) {
      this.#rows.move(move)
      const isNews = move.after !== null && this.#newest !== '' && move.after >= this.#newest
      if (!isNews) this.#differences.mended(move)
    }
  }

  async #settle(missing: readonly Candidate[]): Promise<void> {
    const counted = this.port.known.hidden + this.#differences.anomaliesAfter(epoch).unreadable
    this.#moved(await this.port.settle(missing, counted))
  }

  /** Lists a range, stores the records that the warehouse lacks, and returns the rows that the list doesn't show. */
  async #list(lo: string, hi: string): Promise<readonly Candidate[]> {
    const rows = await this.port.rows(lo, hi)
    const shown = new Set<Int64 | string>()
    const strays = new Set<Int64>()
    const take = async (page: WalkPage<P>): Promise<void> => {
      const own = page.observed.filter(({ updatedAt }) => updatedAt > lo && updatedAt <= hi)
      for (const { id } of own) shown.add(id)
      const other = own.filter(({ id, updatedAt }) => typeof id !== 'string' && rows.get(id) !== updatedAt)
      if (other.length === 0) return
      const moves = await this.port.store(page)
      this.#moved(moves)
      for (const id of notTaken(other, moves)) strays.add(id)
    }
    const list: List<P> = {
      fetch: (page, perPage) => this.#fetch(lo, page, perPage),
      countAfter: async (t) => (await this.#fetch(t, 1, 1)).total,
      readAhead: () => 0,
      note: (message, fields) => this.port.note(message, fields),
    }
    const [newer, total] = [this.#sourceAfter(hi), this.#sourceAfter(lo)]
    const known = { hidden: this.port.known.hidden, size: this.#page < this.#most ? this.#page : undefined }
    const { pageSizes } = this.port
    const range = { after: lo, until: hi, newer, total, known, pageSizes }
    const outcome = await new RangeWalk<P>(list, { take }, range).run()
    this.#isUncounted ||= outcome.verdict === 'listed'
    this.#listed++
    this.#explain(lo, outcome, { shown, strays: strays.size })
    return notShown(rows, shown)
  }

  /**
   * Known anomalies of the list explain a difference; anything beyond them stays a difference. The counts are for the
   * whole list: what they explain in one range can't explain another range too.
   */
  #explain(
    lo: string,
    { expected, seen }: RangeOutcome,
    { shown, strays }: { readonly shown: ReadonlySet<Int64 | string>; readonly strays: number },
  ): void {
    const { known } = this.port
    const anomalies = countAnomalies(shown)
    const short = expected - seen
    const isTwice = this.#strays + strays <= known.twice
    const isHidden = short > 0 && this.#differences.anomaliesAfter(epoch).hidden + short <= known.hidden
    if (isTwice) this.#strays += strays
    this.#differences.explain(
      { ...anomalies, repeated: anomalies.repeated + (isTwice ? strays : 0), hidden: isHidden ? short : 0 },
      lo,
    )
  }
}
