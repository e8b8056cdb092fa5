/*
 * Compares one cursor with the source, by counting or by listing everything. It is the one comparison of `reconcile` and
 * `verify`: they differ in the repair of what it finds.
 */

import type { Int64 } from '../../../schema/resource.js'
import { plural } from '../../engine/base/format.js'
import { Bisection } from '../../engine/compare/bisect.js'
import type { Candidate, ComparePort, Comparison } from '../../engine/compare/comparison.js'
import type { Move } from '../../engine/compare/histogram.js'
import { countAnomalies, nothingFound } from '../../engine/list/anomalies.js'
import { epoch, forever, isWholeFrom, unfiltered } from '../../engine/list/cutpoint.js'
import { IdSet } from '../../engine/list/idset.js'
import { knownOf, type Memory, recalled } from '../../engine/list/memory.js'
import type { List, Store, WalkOutcome, WalkPage } from '../../engine/list/types.js'
import { type Evidence, movesWatermark } from '../../engine/list/verdict.js'
import { walk } from '../../engine/list/walk.js'
import type { UnclearAnswer } from '../../engine/run/answerbyid.js'
import { overlapOf } from '../../engine/run/lateness.js'
import { tellLost } from '../../engine/run/liverows.js'
import { walkPlan } from '../../engine/run/resumecursor.js'
import { differingText } from '../../engine/run/sourceregression.js'
import { Flow } from '../../engine/source/rate/flow.js'
import type { RegisterFinding } from '../../engine/warehouse/store/register.js'
import { listedVersion } from '../../engine/warehouse/store/unlisted.js'
import type { Fetched } from '../../engine/warehouse/store/versionbatch.js'
import { Deciding, type Sides } from './deciding.js'

/* What a comparison reports if it isn't sure. Used by `reconcile` and `verify`. */

/** The rows in doubt because of an unclear answer by id. What is odd about the list may explain why it lacks them. */
export const unclearOf = (
  { isEven }: Comparison,
  unclear: ReadonlyMap<Int64, UnclearAnswer>,
): ReadonlyMap<Int64, UnclearAnswer> => (isEven ? new Map() : unclear)

/** `unclear`: records that the list doesn't show, and what came instead of them by id. */
export function unclearText(unclear: ReadonlyMap<Int64, UnclearAnswer>): string {
  const some = [...unclear].slice(0, mostNamed).map(([id, { found }]) => `${id} (found ${found})`)
  const more = unclear.size > some.length ? ` and ${unclear.size - some.length} more` : ''
  return `The list no longer shows ${plural(unclear.size, 'record')} about which the source gives no clear answer by id: ${some.join(', ')}${more}. ${unclear.size === 1 ? 'Its row stays' : 'Their rows stay'}; the next reconcile asks again`
}

/** How many records a message names. */
const mostNamed = 5

const unevenText = ({ refused, source, warehouse }: ComparedCursor): string =>
  refused > 0 ? refusedText(refused) : movingText(source, warehouse)

const refusedText = (records: number): string =>
  `The list shows ${plural(records, 'record')} whose rows stay marked as deleted: see _deleted_at and _synced_at there`

const movingText = (source: number, warehouse: number): string =>
  `Records kept moving while the counts were compared: ${source} at the source, ${warehouse} in the warehouse. The differences found are repaired; the next reconcile checks again`

/** `differing`: records that the list shows in another version than the answer by id, if there are such answers. */
export function unsureText(
  found: ComparedCursor,
  {
    differing,
    isById,
    unclear,
  }: { differing: number; isById: boolean; unclear: ReadonlyMap<Int64, UnclearAnswer> },
): string {
  if (differing > 0) return differingText(differing, isById)
  return unclear.size > 0 ? unclearText(unclear) : unevenText(found)
}

/** `more`: records that a filter by time hides. */
export const beforeAllText = (more: number): string | undefined =>
  more === 0
    ? undefined
    : `The source counts ${plural(more, 'record')} more without updated_after than with the earliest time that it accepts, so its list was read without it and compared in full. No sync sees these records change: tell the API's operator`

/** The result of comparing one cursor, after the differences were handled. */
export interface ComparedCursor extends Comparison {
  /** From counts that agree, or from the walk of a listing. */
  readonly evidence: Evidence
  /** What to remember about the list from now on. */
  readonly memory: Memory
  /** How many more records the source counts without a filter by time; they were read without it. */
  readonly beforeAll: number
  /** Records that a list of everything shows and whose rows are not live all the same: the warehouse refused them. */
  readonly refused: number
}

/** How many of the rows missing from a list have not moved according to the source. */
function unsettled(missing: readonly Candidate[], moves: readonly Move[]): number {
  const moved = new Map<string | null, number>()
  for (const { before } of moves) moved.set(before, (moved.get(before) ?? 0) + 1)
  return missing.filter(({ updatedAt }) => {
    const left = moved.get(updatedAt) ?? 0
    moved.set(updatedAt, left - 1)
    return left <= 0
  }).length
}

/**
 * Compares one cursor by counting, or by listing everything if that costs less, was requested, or if its rows aren't as
 * many as the register says.
 */
export class Comparing {
  readonly deciding: Deciding
  readonly overlapMs: number

  constructor(private readonly sides: Sides) {
    const { run, resource } = sides.cursor
    this.deciding = new Deciding(sides)
    this.overlapMs = overlapOf(run.config.sync.overlap, run.lateness, resource.name)
  }

  /** `isSearch`: the user requested a listing. */
  async run(
    register: RegisterFinding,
    { isSearch }: { readonly isSearch: boolean },
  ): Promise<ComparedCursor> {
    const memory = this.sides.memory()
    // Of this run's own walk, which knows more than the cursor did.
    if (memory.readable) this.sides.list.readable = memory.readable.size
    // If a list's counts are wrong, counting finds nothing.
    if (isSearch || !countsHold(memory)) return this.#listing({ isSearch })
    // A lost row and a deleted record cancel out in the counts.
    if (register.is === 'different') {
      tellLost(this.sides.tell, register)
      return this.#listing({ isSearch })
    }
    const found = await new Bisection<Fetched>(this.#port()).run()
    if (found.method === 'listing') return this.#listing({ before: found, isSearch: false })
    const evidence: Evidence = { basis: { by: 'counts', isEven: found.isEven } }
    return { ...found, evidence, memory: this.sides.memory(), beforeAll: 0, refused: 0 }
  }

  #port(): ComparePort<Fetched> {
    const { cursor, list, refresh, repair } = this.sides
    return {
      pageSizes: list.pageSizes,
      fetch: (after, page, perPage) => list.fetch(after, page, perPage),
      cells: (after, until) => repair.rows.cells(after, until),
      rows: (after, until) => repair.rows.rows(after, until),
      store: (page) => this.deciding.store(page.payload),
      settle: (candidates) => this.deciding.settle(candidates),
      inDoubt: () => this.deciding.unclear.size,
      refresh: async () => void (await refresh()),
      known: knownOf(this.sides.memory()),
      random: cursor.run.random ?? Math.random,
      note: cursor.note,
    }
  }

  /**
   * Walks the list of what is newer than the floor and has pages with differences repaired; moves no cursor. `after`:
   * what to pass to the source instead of the floor.
   */
  walk(floor: string, saw: (id: Int64 | string) => void = () => {}, after = floor): Promise<WalkOutcome> {
    const { cursor, list } = this.sides
    const flow = new Flow(cursor.run)
    const walked: List<Fetched> = {
      fetch: (page, perPage) => list.fetch(after, page, perPage, { flow }),
      countAfter: (t) => list.countAfter(t),
      readAhead: () => flow.together,
      note: cursor.note,
    }
    const store: Store<Fetched> = (page) => {
      for (const { id } of page.observed) saw(id)
      return flow.storing(this.#store(page))
    }
    const plan = walkPlan(list.pageSizes, floor, this.overlapMs)
    const known = knownOf(this.sides.memory())
    // A complete list shows whether its totals are right by now. If they fluctuate, it isn't read again for that.
    const looksAgain = isWholeFrom(floor) && !known.isUnsteady
    return walk(walked, store, { ...plan, known, looksAgain })
  }

  /**
   * Lists everything with the books of a walk, then settles every row missing from the list. `before`: the comparison by
   * counts that ended in a listing. `isSearch`: the user requested it, so it counts as a search for hidden records.
   */
  async #listing({
    before,
    isSearch,
  }: {
    readonly before?: Comparison
    readonly isSearch: boolean
  }): Promise<ComparedCursor> {
    const { listed, beforeAll } = await this.#listAll(isSearch)
    const { outcome, seen, texts } = listed
    const { finding = nothingFound, books } = outcome
    const missing: Candidate[] = []
    let shown = 0
    const { rows } = this.sides.repair
    for await (const row of rows.all())
      if (seen.has(row.id)) shown++
      else missing.push(row)
    const anomalies = countAnomalies(texts)
    const counted = finding.hidden + anomalies.unreadable
    const settled = await this.deciding.settle(missing, counted)
    const refused = shown < seen.size ? await this.deciding.revive(seen) : 0
    const cells = await rows.cells(epoch, forever)
    const end = { isWhole: true, today: this.sides.cursor.now().slice(0, 10), isSearch }
    const known = this.sides.memory()
    const { isBeforeAll: _, ...memory } = recalled(outcome, known, end).memory
    return {
      method: 'listing',
      // If an unchanged record exists that no list shows, the list can't be trusted.
      isEven: movesWatermark(outcome) && unsettled(missing, settled) <= counted && refused === 0,
      refused,
      evidence: { ...outcome.evidence, beforeAll },
      // Without the filter, the list has a different order, which says nothing about the one that walks read.
      memory: beforeAll > 0 ? { ...known, isBeforeAll: true } : memory,
      beforeAll,
      source: finding.isUncounted ? books.distinct : books.last - finding.twice - finding.hidden,
      warehouse: cells.reduce((sum, { count }) => sum + count, 0),
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
   * Lists everything that the filter by time shows. If the user requested a listing and the source counts more without
   * the filter, or did so before, everything is listed without it, in an order that the API doesn't promise.
   */
  async #listAll(isSearch: boolean) {
    const { list } = this.sides
    const filtered = this.sides.memory().isBeforeAll ? undefined : await this.#list(epoch)
    if (filtered) {
      const { books, finding } = filtered.outcome
      const isCounted = movesWatermark(filtered.outcome) && !finding?.isUncounted
      if (!isSearch || !isCounted || (await list.countAll()) <= books.last)
        return { listed: filtered, beforeAll: 0 }
    }
    // Records may have come between two requests.
    const some = await list.countAfter(epoch)
    const beforeAll = Math.max(0, (await list.countAll()) - some)
    const listed = beforeAll > 0 ? await this.#list(unfiltered) : (filtered ?? (await this.#list(epoch)))
    return { listed, beforeAll }
  }

  async #list(after: string) {
    const seen = new IdSet()
    const texts = new Set<string>()
    const saw = (id: Int64 | string): void => void (typeof id === 'string' ? texts.add(id) : seen.add(id))
    return { outcome: await this.walk(epoch, saw, after), seen, texts }
  }

  /** Has a page repaired if it shows a record that can't be stored, or one whose live row has a different version. */
  async #store(page: WalkPage<Fetched>): Promise<(id: Int64) => string | undefined> {
    const ids = page.observed.flatMap(({ id }) => (typeof id === 'string' ? [] : [id]))
    const stored = await this.sides.repair.rows.versions(ids)
    const differs = page.observed.some(({ id, updatedAt }) => {
      if (typeof id === 'string') return true
      const version = stored.get(id)
      return listedVersion(version) !== updatedAt
    })
    if (differs) await this.deciding.store(page.payload)
    return (id) => stored.get(id)?.updatedAt
  }
}

/**
 * Whether the list can be compared by counts: its order and its totals are reliable, and the filter shows everything.
 */
const countsHold = ({ isUnordered, isUncounted, isBeforeAll }: Memory): boolean =>
  !isUnordered && !isUncounted && !isBeforeAll
