/*
 * Compares one cursor with the source: by counting, or by a list of everything. `reconcile` and `verify` give it the
 * rows to compare the source with, and the repair of differences.
 */

import type { Int64 } from '../../../schema/resource.js'
import { plural } from '../../engine/base/format.js'
import { Bisection } from '../../engine/compare/bisect.js'
import type { Candidate, ComparePort, Comparison } from '../../engine/compare/comparison.js'
import type { Move } from '../../engine/compare/histogram.js'
import type { CursorList } from '../../engine/run/cursorlist.js'
import { walkPlan } from '../../engine/run/resumecursor.js'
import type { Note } from '../../engine/run/runreport.js'
import type { Fetched } from '../../engine/run/store.js'
import { now, type Run } from '../../engine/run/tenant.js'
import { Flow } from '../../engine/source/rate/flow.js'
import { countAnomalies, nothingFound } from '../../engine/walk/anomalies.js'
import { epoch, forever, isWholeFrom, unfiltered } from '../../engine/walk/cutpoint.js'
import { IdSet } from '../../engine/walk/idset.js'
import { countsHold, knownOf, type Memory, recalled } from '../../engine/walk/memory.js'
import type { WalkOutcome, WalkPage, WalkPort } from '../../engine/walk/types.js'
import { type Evidence, movesWatermark } from '../../engine/walk/verdict.js'
import { Walk } from '../../engine/walk/walk.js'
import type { Version } from '../../engine/warehouse/versionbatch.js'

/* What a comparison says of itself where it is not sure. `reconcile` and `verify` use it. */

export const differingText = (records: number): string =>
  `The source gives different answers about ${plural(records, 'record')} by id and in its list, or from one response to the next. Nothing was changed for ${records === 1 ? 'it' : 'them'}; the next reconcile checks again`

export const unevenText = ({ source, warehouse }: ComparedCursor): string =>
  `Records kept moving while the counts were compared: ${source} at the source, ${warehouse} in the warehouse. The differences found are repaired; the next reconcile checks again`

/** `more`: records that a filter by time keeps back. */
export const beforeAllText = (more: number): string | undefined =>
  more === 0
    ? undefined
    : `The source counts ${plural(more, 'record')} more without updated_after than with the earliest time that it accepts, so its list was read without it and compared in full. No sync sees these records change: tell the API's operator`

/** What a comparison of one cursor has found, after the differences were dealt with. */
export interface ComparedCursor extends Comparison {
  /** Of counts that agree, or of the walk of a listing. */
  readonly evidence: Evidence
  /** What is remembered of the list from now on. */
  readonly memory: Memory
  /** So many records more the source counts without a filter by time; they were read so. */
  readonly beforeAll: number
}

/** The rows that the source is compared with. */
export interface ComparedRows extends Pick<ComparePort<Fetched>, 'cells' | 'rows'> {
  /** The stored versions of records, tombstones included. */
  versions(ids: readonly Int64[]): Promise<ReadonlyMap<Int64, Version>>
  all(): AsyncIterable<Candidate>
}

/** What is done about differences. Each method returns how rows moved by that (see ComparePort). */
export interface Repair extends Pick<ComparePort<Fetched>, 'settle' | 'refresh'> {
  store(fetched: Fetched): Promise<readonly Move[]>
  recoverLostRows(): Promise<readonly Move[] | undefined>
}

interface ComparingParts {
  readonly overlapMs: number
  readonly list: CursorList
  readonly rows: ComparedRows
  readonly repair: Repair
  /** What is remembered of the list. */
  memory(): Memory
  readonly note: Note
}

type ComparingRun = Pick<Run, 'config' | 'clock' | 'readAhead' | 'pageSizes' | 'random'>

/** What one reading of the whole list has shown. */
interface Listed {
  readonly outcome: WalkOutcome
  readonly seen: IdSet
  readonly texts: ReadonlySet<string>
}

interface Listing {
  /** The comparison by counts that came to a listing. */
  readonly before?: Comparison
  /** The listing was asked for: it counts as a search for what is not shown. */
  readonly isSearch: boolean
}

/** How many of the rows that a list does not show have not moved by what the source said of them. */
function unsettled(missing: readonly Candidate[], moves: readonly Move[]): number {
  const moved = new Map<string | null, number>()
  for (const { before } of moves) moved.set(before, (moved.get(before) ?? 0) + 1)
  return missing.filter(({ updatedAt }) => {
    const left = moved.get(updatedAt) ?? 0
    moved.set(updatedAt, left - 1)
    return left <= 0
  }).length
}

/** Compares one cursor: by counting, or by a list of everything where that costs less or is asked for. */
export class Comparing {
  readonly #run: ComparingRun

  constructor(
    run: ComparingRun,
    private readonly parts: ComparingParts,
  ) {
    this.#run = run
  }

  async run(full: boolean): Promise<ComparedCursor> {
    const memory = this.parts.memory()
    // Counts find nothing in a list whose counts are not true.
    if (full || !countsHold(memory)) return this.#listing({ isSearch: full })
    const found = await new Bisection<Fetched>(this.#port()).run()
    if (found.method === 'listing') return this.#listing({ before: found, isSearch: false })
    const evidence: Evidence = { basis: { by: 'counts', isEven: found.isEven } }
    return { ...found, evidence, memory: this.parts.memory(), beforeAll: 0 }
  }

  #port(): ComparePort<Fetched> {
    const { list, rows, repair, note } = this.parts
    return {
      fetch: (after, page, perPage) => list.fetch(after, page, perPage),
      cells: (after, until) => rows.cells(after, until),
      rows: (after, until) => rows.rows(after, until),
      store: (page) => repair.store(page.payload),
      settle: (candidates) => repair.settle(candidates),
      recall: () => repair.recoverLostRows(),
      refresh: () => repair.refresh(),
      known: knownOf(this.parts.memory()),
      random: this.#run.random ?? Math.random,
      note,
    }
  }

  /**
   * Walks the list of what is newer than the floor and has pages with differences repaired; moves no cursor. `after`:
   * what the source is asked for, if not for what is newer than the floor.
   */
  walk(floor: string, saw: (id: Int64 | string) => void = () => {}, after = floor): Promise<WalkOutcome> {
    const { list, note } = this.parts
    const flow = new Flow(this.#run)
    const port: WalkPort<Fetched> = {
      fetch: (page, perPage) => list.fetch(after, page, perPage, { flow }),
      store: (page) => {
        for (const { id } of page.observed) saw(id)
        return flow.storing(this.#store(page))
      },
      countAfter: (t) => list.countAfter(t),
      readAhead: () => flow.together,
      note,
    }
    const plan = walkPlan(this.#run, floor, this.parts.overlapMs)
    const known = knownOf(this.parts.memory())
    // A whole list tells whether its totals are true by now; one whose totals jump is not read so often again for that.
    const looksAgain = isWholeFrom(floor) && !known.isUnsteady
    return new Walk(port, { ...plan, known, looksAgain }).run()
  }

  /** Lists everything, with the books of a walk; then settles every row that the list has not shown. */
  async #listing({ before, isSearch }: Listing): Promise<ComparedCursor> {
    const { listed, beforeAll } = await this.#listAll(isSearch)
    const { outcome, seen, texts } = listed
    const { finding = nothingFound, books } = outcome
    const missing: Candidate[] = []
    for await (const row of this.parts.rows.all()) if (!seen.has(row.id)) missing.push(row)
    const settled = await this.parts.repair.settle(missing)
    const rows = await this.parts.rows.cells(epoch, forever)
    const anomalies = countAnomalies(texts)
    const end = { isWhole: true, today: now(this.#run).slice(0, 10), isSearch }
    const known = this.parts.memory()
    const { isBeforeAll: _, ...memory } = recalled(outcome, known, end).memory
    return {
      method: 'listing',
      // Where a record exists unchanged that no list shows, the list is not to be believed.
      isEven: movesWatermark(outcome) && unsettled(missing, settled) <= finding.hidden + anomalies.unreadable,
      evidence: { ...outcome.evidence, beforeAll },
      // Without the filter the list has another order, which says nothing of the one that walks read.
      memory: beforeAll > 0 ? { ...known, isBeforeAll: true } : memory,
      beforeAll,
      source: finding.isUncounted ? books.distinct : books.last - finding.twice - finding.hidden,
      warehouse: rows.reduce((sum, { count }) => sum + count, 0),
      counted: before?.counted ?? 0,
      listed: (before?.listed ?? 0) + 1,
      anomalies: {
        ...anomalies,
        repeated: Math.max(anomalies.repeated, finding.twice),
        hidden: finding.hidden,
      },
    }
  }

  /**
   * Lists everything that the filter by time shows. Where somebody asked for a listing, and the source counts more
   * without the filter, or did so before, everything is listed without it: in no order that the API promises.
   */
  async #listAll(isSearch: boolean): Promise<{ readonly listed: Listed; readonly beforeAll: number }> {
    const { list } = this.parts
    const filtered = this.parts.memory().isBeforeAll ? undefined : await this.#list(epoch)
    if (filtered) {
      const { books, finding } = filtered.outcome
      const isCounted = movesWatermark(filtered.outcome) && !finding?.isUncounted
      if (!isSearch || !isCounted || (await list.countAll()) <= books.last)
        return { listed: filtered, beforeAll: 0 }
    }
    // Records may have come between two questions.
    const some = await list.countAfter(epoch)
    const beforeAll = Math.max(0, (await list.countAll()) - some)
    const listed = beforeAll > 0 ? await this.#list(unfiltered) : (filtered ?? (await this.#list(epoch)))
    return { listed, beforeAll }
  }

  async #list(after: string): Promise<Listed> {
    const seen = new IdSet()
    const texts = new Set<string>()
    const saw = (id: Int64 | string): void => void (typeof id === 'string' ? texts.add(id) : seen.add(id))
    return { outcome: await this.walk(epoch, saw, after), seen, texts }
  }

  /** Has a page repaired if it shows a record that cannot be stored, or whose live row has another version. */
  async #store(page: WalkPage<Fetched>): Promise<(id: Int64) => string | undefined> {
    const ids = page.observed.flatMap(({ id }) => (typeof id === 'string' ? [] : [id]))
    const stored = await this.parts.rows.versions(ids)
    const differs = page.observed.some(({ id, updatedAt }) => {
      if (typeof id === 'string') return true
      const version = stored.get(id)
      return version?.updatedAt !== updatedAt || version.deletedAt !== null
    })
    if (differs) await this.parts.repair.store(page.payload)
    return (id) => stored.get(id)?.updatedAt
  }
}
