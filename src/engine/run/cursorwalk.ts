/*
 * The incremental walk of one cursor: joins the API's list, the walk that judges it, and the warehouse. Used by `sync`,
 * `sync --full`, and `reconcile`, which walks before it compares.
 */
import type { Int64 } from '../../../schema/resource.js'
import { isWholeFrom } from '../list/cutpoint.js'
import { knownOf, type Memory, memoryOf, recalled, storedMemory } from '../list/memory.js'
import type { List, Store, WalkOutcome, WalkPage, WalkPlan } from '../list/types.js'
import { type Evidence, movesWatermark } from '../list/verdict.js'
import { Walk } from '../list/walk.js'
import { Flow } from '../source/rate/flow.js'
import { moveCursor, type WalkSlot } from '../warehouse/cursors.js'
import type { EncodedPage, Fetched } from '../warehouse/versionbatch.js'
import { CursorList } from './cursorlist.js'
import type { CursorProgress, CursorResult, CursorWork } from './cursorwork.js'
import { Freshness } from './freshness.js'
import { overlapOf } from './lateness.js'
import { sourceRegression } from './olderversions.js'
import {
  type AskedWalk,
  floorOf,
  isQuick,
  quickFloor,
  refillOf,
  resumable,
  type WalkMode,
  walkMode,
  walkPlan,
} from './resumecursor.js'
import { beyondHoles, retryHole, tryLarger, withReadable } from './retryhole.js'
import { believedWatermark, plannedWatermark, warnOfStamps } from './stampsahead.js'
import { PageStore } from './store.js'
import type { CursorRun } from './tenant.js'
import {
  giveUp,
  isSearchDue,
  pageStatements,
  plannedAfter,
  type WalkUnderWay,
  watermarkAfter,
} from './walkstore.js'

export class CursorWalk implements CursorWork {
  #floor: string
  #before: string | null
  #watermark: string | null
  /** See `CursorState.plannedWatermark`. */
  planned: string | null
  readonly #list: CursorList<EncodedPage>
  readonly #flow: Flow
  readonly #startedAt: string
  readonly #today: string
  readonly #store: PageStore
  #memory: Memory
  /** A hole has closed. Until the walk ends, the cursor remembers it, so that a killed walk is followed by another. */
  #isClosing = false
  /** The last walk's outcome as committed: limited by what is remembered about the list. */
  #committed: WalkOutcome | undefined
  /** The last walk's evidence, regardless of what is remembered about the list. */
  evidence: Evidence | undefined
  /** Of the current walk. undefined if an earlier run began it. */
  #freshness: Freshness | undefined
  /** Records for which the last walk met an older version than their row. */
  #older = 0
  readonly #asked: AskedWalk
  /** See `AskedWalk`. */
  readonly #isQuick: boolean
  /** Nothing of the list is in the warehouse yet. */
  #isFirstLoad = false
  /** The list was read whole; what follows fetches what is new. */
  #isFilled = false
  readonly mode: WalkMode

  constructor(
    private readonly cursor: CursorRun,
    asked: AskedWalk,
  ) {
    const { state, warehouse, key } = cursor
    this.#asked = asked
    this.#isQuick = isQuick(state, asked)
    this.mode = walkMode(state, asked)
    this.#flow = new Flow(cursor.run, warehouse.unstored)
    const options = { priority: 'incremental', flow: this.#flow } as const
    this.#list = new CursorList(cursor, options, (page) => warehouse.encode(page, key))
    this.#startedAt = cursor.now()
    this.#today = this.#startedAt.slice(0, 10)
    this.#store = new PageStore(cursor, 'walk')
    this.#before = state?.watermark ?? null
    this.#watermark = this.#before
    this.planned = state?.plannedWatermark ?? null
    this.#memory = memoryOf(state?.remembered)
    this.#floor = this.#usualFloor
  }

  /** The whole overlap: records also become visible late where a quick walk doesn't look. */
  get #overlapMs(): number {
    const { run, resource } = this.cursor
    return overlapOf(run.config.sync.overlap, run.lateness, resource.name)
  }

  /** Where the walk starts, whatever is remembered about the list. */
  get #usualFloor(): string {
    if (this.mode === 'full') return floorOf(null, 0)
    return this.#isQuick ? quickFloor(this.cursor, this.#before) : floorOf(this.planned, this.#overlapMs)
  }

  get #refill(): string | null {
    return this.#isFilled ? null : refillOf(this.cursor.state, this.#asked)
  }

  get #slot(): WalkSlot {
    return this.#refill === null ? 'walk' : 'refill_walk'
  }

  get #underWay(): WalkUnderWay {
    return {
      cursor: this.cursor,
      mode: this.mode,
      refill: this.#refill,
      slot: this.#slot,
      isQuick: this.#isQuick,
      isFirstLoad: this.#isFirstLoad,
      isWhole: isWholeFrom(this.#floor),
      startedAt: this.#startedAt,
      before: this.#before,
      plannedBefore: this.planned,
      freshness: this.#freshness,
    }
  }

  get progress(): CursorProgress {
    return { ...this.#store.counts, watermark: this.#watermark }
  }

  /** When the last walk began. null if unknown. */
  get walkedAt(): string | null {
    return this.#freshness?.walkedAt ?? null
  }

  /** Records for which the last walk met an older version than their row. */
  get older(): ReadonlySet<Int64> {
    return this.#freshness?.older ?? new Set()
  }

  /** What is remembered about the list, including this walk. */
  get memory(): Memory {
    return this.#memory
  }

  async run(): Promise<CursorResult> {
    const { key, root, state, tenantId, warehouse } = this.cursor
    await this.#settleWatermark()
    await this.#settleFloor()
    // For long walks only: an idle cursor must not pay for the preparation.
    if (this.mode === 'full' || !state || (state.walk && !this.#isQuick)) warehouse.dialect.bulk.warm()
    const refill = this.#refill
    if (refill) this.cursor.note('Reading the whole list once', { reason: refill })
    const begun = { floor: this.#floor, mode: this.mode, isFirst: this.#before === null, refill }
    const resume = this.#isQuick
      ? undefined
      : await resumable(warehouse, { ...key, slot: this.#slot }, state, begun)
    // Rows may exist without a watermark: from another source, or from an interrupted first load.
    const isFirst = this.#before === null && !resume
    this.#isFirstLoad = isFirst && (await warehouse.countRows(root, tenantId)) === 0
    const expected =
      this.mode === 'full' && this.#before !== null ? await warehouse.countRows(root, tenantId) : undefined
    const outcome = await this.#walk({
      ...(resume && { resume }),
      ...(expected !== undefined && { expected }),
    })
    if (!resume || !movesWatermark(outcome))
      return { ...this.progress, ...sourceRegression(this.#asked === 'full' ? this.#older : 0, outcome) }
    this.#isFilled = true
    // A resumed walk claims completeness as of the time it began. Records that arrived since, within the overlap or
    // within the second of its ceiling, need another walk: a run that reports success must not leave them out.
    this.#before = this.#watermark
    this.#floor = floorOf(this.planned, this.#overlapMs)
    const next = await this.#walk({})
    return {
      ...this.progress,
      outcome: outcome.verdict === 'repaired' && next.verdict === 'proven' ? outcome : next,
    }
  }

  /** Starts the walk at the list's beginning if that is due for a search, or behind the part that fails. */
  async #settleFloor(): Promise<void> {
    if (this.#asked !== 'quick') this.#memory = await tryLarger(this.#list, this.#memory, this.#today)
    const { holes } = this.#memory
    // A ring leaves what is late behind the holes to the next planned walk, which starts further back anyway.
    if (this.#isQuick) this.#floor = beyondHoles(this.#floor, this.#memory).floor
    else if (this.#asked === 'quick') this.#beginBeyondHoles()
    else if (await isSearchDue(this.#underWay, this.#memory)) this.#floor = floorOf(null, 0)
    else if (this.mode === 'sync' && holes) await this.#tryHole()
  }

  #beginBeyondHoles(): void {
    const { floor, memory } = beyondHoles(this.#floor, this.#memory)
    this.#floor = floor
    this.#memory = memory
  }

  /** Finds the stored watermarks that can be trusted, and starts there. */
  async #settleWatermark(): Promise<void> {
    const ask = async () => (await this.#fetch(1, 1)).clocks
    this.#before = await believedWatermark(this.cursor, this.#before, ask)
    this.#watermark = this.#before
    this.planned = await plannedWatermark(this.cursor, this.#before)
    this.#floor = this.#usualFloor
  }

  /** A page of the list, with our own clock, because the stamp of a request may be ahead of it. */
  async #fetch(page: number, perPage: number): Promise<WalkPage<Fetched<EncodedPage>>> {
    const own = this.cursor.now()
    const answer = await this.#list.fetch(this.#floor, page, perPage)
    const clocks = { source: answer.clocks?.source ?? null, own }
    this.#freshness?.answered(clocks)
    return { ...answer, clocks }
  }

  async #walk(plan: Pick<WalkPlan, 'resume' | 'expected'>): Promise<WalkOutcome> {
    const known = knownOf(this.#memory)
    const how = {
      isMeasured: this.mode === 'sync' && !isWholeFrom(this.#floor),
      isNews: this.#refill === null,
      isQuick: this.#isQuick,
    }
    this.#freshness = plan.resume ? undefined : new Freshness(this.cursor, how)
    const afterWalk = plan.resume ? undefined : await this.cursor.run.beforeWalk?.(this.cursor)
    const looksAgain = isWholeFrom(this.#floor)
    const usual = walkPlan(this.#list.pageSizes, this.#floor, this.#overlapMs)
    const whole = { ...usual, known, looksAgain, ...plan }
    const outcome = await new Walk(this.#walked, this.#commit, whole).run()
    this.evidence = outcome.evidence
    if (movesWatermark(outcome)) {
      const twice = this.#memory.twice ?? 0
      this.#older =
        (await this.#freshness?.keep(this.#committed ?? outcome, {
          startedAt: this.#startedAt,
          twice,
        })) ?? 0
      await afterWalk?.(this.#floor)
      return this.#committed ?? outcome
    }
    warnOfStamps(this.cursor, outcome)
    await giveUp(this.#underWay, outcome)
    return outcome
  }

  /** Retries the remembered hole that has waited longest, and begins behind those that remain. */
  async #tryHole(): Promise<void> {
    const { memory, toStore, page, from } = await retryHole(this.#list, this.#memory)
    this.#memory = memory
    this.#isClosing = from !== undefined
    const { key, warehouse } = this.cursor
    const remembered = toStore && storedMemory(toStore)
    const statements = toStore ? [moveCursor(warehouse.db, key, { remembered })] : []
    if (page) await this.#store.store(page.payload, { statements })
    if (from !== undefined && from < this.#floor) this.#floor = from
    this.#beginBeyondHoles()
  }

  /** The list of what is newer than the floor. */
  get #walked(): List<Fetched<EncodedPage>> {
    return {
      fetch: (page, perPage) => this.#fetch(page, perPage),
      countAfter: (t) => this.#list.countAfter(t),
      readAhead: () => this.#flow.together,
      note: this.cursor.note,
    }
  }

  readonly #commit: Store<Fetched<EncodedPage>> = async (page, commit) => {
    const { key, warehouse } = this.cursor
    const isWhole = isWholeFrom(this.#floor)
    const end = { isWhole, today: this.#today, isSearch: false }
    const learned = withReadable(this.#list, this.#memory, this.#today)
    this.#memory = learned ?? this.#memory
    const recall = commit.outcome && recalled(commit.outcome, this.#memory, end)
    const statements = pageStatements(
      this.#underWay,
      recall ? { ...commit, ...recall } : commit,
      recall?.memory,
    )
    if (learned && !recall && !this.#isClosing)
      statements.push(moveCursor(warehouse.db, key, { remembered: learned }))
    const applied = await this.#flow.storing(
      this.#store.store(page.payload, { statements, expected: page.total }),
    )
    this.#freshness?.stored(page.payload.flattened.records, applied, page.clocks)
    if (recall) {
      this.#watermark = watermarkAfter(this.#before, recall.outcome)
      this.planned = plannedAfter(this.#underWay, recall.outcome)
      this.#memory = recall.memory
      this.#isClosing = false
      this.#committed = recall.outcome
      warnOfStamps(this.cursor, recall.outcome)
    }
    return (id) => applied.previous.get(id)?.updatedAt
  }
}
