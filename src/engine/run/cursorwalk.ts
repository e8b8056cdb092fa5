/*
 * The incremental walk of one cursor: where it begins, what it remembers about the list, and whether another walk has to
 * follow. It reads a list and stores into a WalkStore, and knows nothing else of the run (listwalk.ts joins them).
 * Used by `sync`, `sync --full`, and `reconcile`, which walks before it compares.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Clocks } from '../list/clocks.js'
import { isWholeFrom } from '../list/cutpoint.js'
import { isSearchDue, knownOf, type Memory, memoryOf, recalled } from '../list/memory.js'
import type { Commit, List, Store, WalkOutcome, WalkPage, WalkPlan } from '../list/types.js'
import { type Evidence, movesWatermark } from '../list/verdict.js'
import { walk } from '../list/walk.js'
import type { Flow } from '../source/rate/flow.js'
import type { EncodedPage, Fetched } from '../warehouse/store/versionbatch.js'
import type { CursorList } from './cursorlist.js'
import type { Counts, CursorProgress, CursorResult, CursorWork } from './cursorwork.js'
import { sourceRegression } from './olderversions.js'
import {
  type AskedWalk,
  type BegunWalk,
  floorOf,
  type Interrupted,
  isQuick,
  refillOf,
  type WalkMode,
  walkMode,
  walkPlan,
} from './resumecursor.js'
import { beyondHoles, retryHole, tryLarger, withReadable } from './retryhole.js'
import type { Note } from './runreport.js'

/** What the warehouse has for the walks of a cursor, and where their pages go. */
export interface WalkStore {
  /** What the pages have added so far. */
  readonly counts: Counts
  /** The watermark, and that of planned walks (`Cursor.planned_watermark`). They move when a walk ends. */
  readonly watermark: string | null
  readonly planned: string | null
  /** When the last walk began. null if unknown. */
  readonly walkedAt: string | null
  /** Records for which the last walk met an older version than their row. */
  readonly older: ReadonlySet<Int64>
  /** Finds the stored watermarks that can be trusted. `ask`: requests the clocks. */
  believe(ask: () => Promise<Clocks | undefined>): Promise<void>
  /** Live rows of the list. */
  countRows(): Promise<number>
  /** Begins a walk. Returns what an earlier process left of it, and the rows that it has to find again. */
  open(walk: BegunWalk): Promise<Pick<WalkPlan, 'resume' | 'expected'>>
  /** Takes the clocks of a response. */
  answered(clocks: Clocks): void
  /** Stores a page with its commit in one transaction, and with what is remembered about the list, if that changed. */
  store(page: WalkPage<Fetched<EncodedPage>>, commit: Commit, memory?: Memory): ReturnType<Store<unknown>>
  /** The walk has moved the watermark. Returns how many records have older versions than their rows. */
  close(outcome: WalkOutcome, memory: Memory): Promise<number>
  /** The books don't close: rows that arrived stay, the watermark doesn't move, and the next run begins a new walk. */
  giveUp(outcome: WalkOutcome): Promise<void>
}

export class CursorWalk implements CursorWork {
  readonly mode: WalkMode
  /** See `AskedWalk`. */
  readonly #isQuick: boolean
  readonly #today: string
  #floor = ''
  #memory: Memory
  /** A hole has closed. Until the walk ends, the cursor remembers it, so that a killed walk is followed by another. */
  #isClosing = false
  /** The last walk's outcome as committed: limited by what is remembered about the list. */
  #committed: WalkOutcome | undefined
  /** The last walk's evidence, regardless of what is remembered about the list. */
  evidence: Evidence | undefined

  constructor(
    private readonly cursor: {
      readonly asked: AskedWalk
      readonly state: (Interrupted & { readonly remembered?: unknown }) | undefined
      readonly list: CursorList<EncodedPage>
      readonly flow: Flow
      readonly store: WalkStore
      /** How far before its watermark a planned walk begins, and a quick one, in milliseconds. */
      readonly overlapMs: number
      readonly quickOverlapMs: number
      now(): string
      readonly note: Note
    },
  ) {
    const { state, asked } = cursor
    this.#isQuick = isQuick(state, asked)
    this.mode = walkMode(state, asked)
    this.#memory = memoryOf(state?.remembered)
    this.#today = cursor.now().slice(0, 10)
  }

  get progress(): CursorProgress {
    const { counts, watermark } = this.cursor.store
    return { ...counts, watermark }
  }

  /** Where its walks go, and what they have found there. */
  get store(): WalkStore {
    return this.cursor.store
  }

  /** What is remembered about the list, including this walk. */
  get memory(): Memory {
    return this.#memory
  }

  async run(): Promise<CursorResult> {
    const { asked, state, store, note } = this.cursor
    this.#floor = this.#usualFloor
    await store.believe(async () => (await this.#fetch(1, 1)).clocks)
    this.#floor = this.#usualFloor
    await this.#settleFloor()
    const refill = refillOf(state, asked)
    if (refill) note('Reading the whole list once', { reason: refill })
    const first = await this.#walk({ refill, isSecond: false })
    if (!first.isResumed || !movesWatermark(first.outcome))
      return { ...this.progress, ...sourceRegression(asked === 'full' ? first.older : 0, first.outcome) }
    // A resumed walk claims completeness as of the time it began. Records that arrived since, within the overlap or
    // within the second of its ceiling, need another walk: a run that reports success must not leave them out.
    this.#floor = floorOf(store.planned, this.cursor.overlapMs)
    const { outcome: next } = await this.#walk({ refill: null, isSecond: true })
    const isRepaired = first.outcome.verdict === 'repaired' && next.verdict === 'proven'
    return { ...this.progress, outcome: isRepaired ? first.outcome : next }
  }

  /** Where the walk starts, whatever is remembered about the list. */
  get #usualFloor(): string {
    const { store, overlapMs, quickOverlapMs } = this.cursor
    if (this.mode === 'full') return floorOf(null, 0)
    return this.#isQuick ? floorOf(store.watermark, quickOverlapMs) : floorOf(store.planned, overlapMs)
  }

  /** Starts the walk at the list's beginning if that is due for a search, or behind the part that fails. */
  async #settleFloor(): Promise<void> {
    const { asked, list, store } = this.cursor
    if (asked !== 'quick') this.#memory = await tryLarger(list, this.#memory, this.#today)
    const rows = () => store.countRows()
    // A ring leaves what is late behind the holes to the next planned walk, which starts further back anyway.
    if (this.#isQuick) this.#floor = beyondHoles(this.#floor, this.#memory).floor
    else if (asked === 'quick') this.#beginBeyondHoles()
    else if (this.mode === 'full') return
    else if (await isSearchDue(this.#memory, this.#today, rows)) this.#floor = floorOf(null, 0)
    else if (this.#memory.holes) await this.#tryHole()
  }

  #beginBeyondHoles(): void {
    const { floor, memory } = beyondHoles(this.#floor, this.#memory)
    this.#floor = floor
    this.#memory = memory
  }

  /** Retries the remembered hole that has waited longest, and begins behind those that remain. */
  async #tryHole(): Promise<void> {
    const { list, store } = this.cursor
    const { memory, toStore, page, from } = await retryHole(list, this.#memory)
    this.#memory = memory
    this.#isClosing = from !== undefined
    if (page) await store.store(page, {}, toStore)
    if (from !== undefined && from < this.#floor) this.#floor = from
    this.#beginBeyondHoles()
  }

  async #walk(begun: Pick<BegunWalk, 'refill' | 'isSecond'>) {
    const { list, store, overlapMs } = this.cursor
    const left = await store.open({
      floor: this.#floor,
      mode: this.mode,
      isQuick: this.#isQuick,
      ...begun,
    })
    const usual = walkPlan(list.pageSizes, this.#floor, overlapMs)
    const plan = { ...usual, known: knownOf(this.#memory), looksAgain: isWholeFrom(this.#floor), ...left }
    const outcome = await walk(this.#list, this.#store, plan)
    this.evidence = outcome.evidence
    const isResumed = left.resume !== undefined
    if (movesWatermark(outcome)) {
      const committed = this.#committed ?? outcome
      return { outcome: committed, isResumed, older: await store.close(committed, this.#memory) }
    }
    await store.giveUp(outcome)
    return { outcome, isResumed, older: 0 }
  }

  /** The list of what is newer than the floor. */
  get #list(): List<Fetched<EncodedPage>> {
    const { list, flow, note } = this.cursor
    return {
      fetch: (page, perPage) => this.#fetch(page, perPage),
      countAfter: (t) => list.countAfter(t),
      readAhead: () => flow.together,
      note,
    }
  }

  /** A page of the list, with our own clock, because the stamp of a request may be ahead of it. */
  async #fetch(page: number, perPage: number): Promise<WalkPage<Fetched<EncodedPage>>> {
    const own = this.cursor.now()
    const answer = await this.cursor.list.fetch(this.#floor, page, perPage)
    const clocks = { source: answer.clocks?.source ?? null, own }
    this.cursor.store.answered(clocks)
    return { ...answer, clocks }
  }

  /** Stores a page. A verdict that moves the watermark is limited by what is remembered about the list. */
  readonly #store: Store<Fetched<EncodedPage>> = async (page, commit) => {
    const { list, flow, store } = this.cursor
    const learned = withReadable(list, this.#memory, this.#today)
    this.#memory = learned ?? this.#memory
    const end = { isWhole: isWholeFrom(this.#floor), today: this.#today, isSearch: false }
    const recall = commit.outcome && recalled(commit.outcome, this.#memory, end)
    const memory = recall?.memory ?? (this.#isClosing ? undefined : learned)
    const previous = await flow.storing(store.store(page, { ...commit, ...recall }, memory))
    if (recall) {
      this.#memory = recall.memory
      this.#isClosing = false
      this.#committed = recall.outcome
    }
    return previous
  }
}
