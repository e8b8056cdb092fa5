/*
 * The reconciliation of one cursor: an incremental walk, then a comparison with the source that repairs what differs.
 * `reconcile` and jobs use it.
 */

import type { Source } from '../../api/source.js'
import type { Candidate } from '../../compare/comparison.js'
import type { Move } from '../../compare/histogram.js'
import { epoch, forever } from '../../walk/cutpoint.js'
import { supersedes } from '../../warehouse/apply.js'
import { cursorName, newCursor } from '../../warehouse/cursors.js'
import { type CursorTask, keyOf, noteOf, type RunContext, stateOf } from '../run/context.js'
import { overlapOf } from '../run/lateness.js'
import { type Fetched, PageStore } from '../run/pagestore.js'
import type { Note, Reconciled } from '../run/report.js'
import { addCounts, type CursorProgress, type CursorResult, type CursorWork, noCounts } from '../run/work.js'
import { CursorWalk } from '../walks/incremental.js'
import { type CursorList, flatList } from '../walks/list.js'
import { Breaker } from './breaker.js'
import { type ComparedCursor, Comparing, type Repair } from './comparing.js'
import { Confirmation } from './confirm.js'
import { Latecomers } from './latecomers.js'
import { LiveRows } from './liverows.js'
import { recoverLostRows } from './lostrows.js'
import { RegisterCheck } from './registercheck.js'
import { type GoneRow, markDeleted } from './tombstone.js'
import { trimRequests } from './trim.js'

export interface ReconcileOptions {
  /** List every record, whatever the counts say. */
  readonly full: boolean
  /** Mark rows as deleted, however many are gone. */
  readonly acceptDeletes: boolean
  /** The share of a cursor's rows that may otherwise be marked deleted at once. */
  readonly maxDeletes: number
}

/** Rows of which the source is asked first, before many are asked about: they tell whether a landslide is real. */
const sampleSize = 20

/** One cursor's reconciliation. It repairs differences by writing. */
export class Reconciliation implements CursorWork, Repair {
  readonly #list: CursorList
  readonly #store: PageStore
  readonly #comparing: Comparing
  readonly #confirmation: Confirmation
  readonly #liveRows: LiveRows
  readonly #check: RegisterCheck
  readonly #note: Note
  readonly #latecomers: Latecomers
  #walk: CursorWalk
  /** What the walks before the present one have counted. */
  #walked = noCounts
  #breaker: Breaker | undefined
  /** Records that the warehouse lacked, or had in an older version. */
  #stored = 0
  #deleted = 0
  /** Records that the source counts and that cannot be stored. */
  #unstorable = 0

  constructor(
    private readonly context: RunContext,
    private readonly task: CursorTask,
    private readonly source: Source,
    private readonly options: ReconcileOptions,
  ) {
    this.#note = noteOf(context, keyOf(task))
    this.#liveRows = new LiveRows(context.warehouse, task)
    this.#check = new RegisterCheck(context, task, context.fence)
    this.#list = flatList(source, task, { priority: 'reconcile', signal: context.signal })
    this.#store = new PageStore(context, keyOf(task), 'reconcile')
    this.#comparing = new Comparing(context, {
      overlapMs: overlapOf(context.config.sync.overlap, context.lateness, task.resource.name),
      list: this.#list,
      rows: this.#liveRows,
      repair: this,
      note: this.#note,
    })
    this.#confirmation = new Confirmation(this.#list, context.stamps, this.#note)
    this.#latecomers = new Latecomers(context, task)
    this.#walk = new CursorWalk(context, task, source, 'sync')
  }

  get progress(): CursorProgress {
    const { written, removed } = this.#store.counts
    const own = {
      records: this.#list.records,
      unstorable: this.#unstorable,
      written,
      removed: removed + this.#deleted,
    }
    const { watermark, ...walk } = this.#walk.progress
    return { ...addCounts(own, addCounts(this.#walked, walk)), watermark }
  }

  async run(): Promise<CursorResult> {
    const { outcome } = await this.#walk.run()
    if (outcome?.verdict === 'unproven') return { ...this.progress, outcome }
    this.#latecomers.measureFrom((await this.#hasLostRows()) ? null : this.#walk.walkedAt)
    const found = await this.#comparing.run(this.options.full)
    const { isEven, verdict, odd, ...rest } = found
    await this.#latecomers.keep(isEven)
    if (isEven) await this.#check.close(this.options.full ? 'listing' : found.method)
    await trimRequests(this.context, this.task, found.warehouse)
    this.#unstorable = odd
    const reconciled: Reconciled = { ...rest, stored: this.#stored, deleted: this.#deleted }
    const repaired = outcome?.verdict === 'repaired' || verdict === 'repaired'
    return {
      ...this.progress,
      outcome: outcome && { ...outcome, verdict: isEven ? (repaired ? 'repaired' : 'proven') : 'unproven' },
      reconciled,
      ...(!isEven && { problem: unevenText(found) }),
    }
  }

  recoverLostRows(): Promise<readonly Move[] | undefined> {
    return recoverLostRows({
      check: this.#check,
      liveRows: this.#liveRows,
      confirmation: this.#confirmation,
      repair: { settle: (rows) => this.settle(rows), store: (page) => this.#keep(page, false) },
      note: this.#note,
    })
  }

  async #hasLostRows(): Promise<boolean> {
    return (await this.#check.live()) !== (await this.#liveRows.count(epoch, forever))
  }

  /** The source has moved: another walk, from the watermark of the walk before. */
  async refresh(): Promise<void> {
    const { watermark, ...before } = this.#walk.progress
    // Records that cannot be stored are not counted again: the comparison counts all of them.
    this.#walked = addCounts(this.#walked, { ...before, unstorable: 0 })
    const state = { ...(stateOf(this.context, this.task) ?? newCursor), watermark, walk: null, refill: null }
    const cursors = new Map([[cursorName(keyOf(this.task)), state]])
    this.#walk = new CursorWalk({ ...this.context, cursors }, this.task, this.source, 'sync')
    await this.#walk.run()
  }

  store(fetched: Fetched): Promise<Move[]> {
    return this.#keep(fetched, true)
  }

  /** `mayBeLate`: the records were missing for no reason that the warehouse knows of. */
  async #keep(fetched: Fetched, mayBeLate: boolean): Promise<Move[]> {
    const applied = await this.#store.storeFlat(fetched)
    if (mayBeLate) this.#latecomers.take(fetched, applied)
    const { previous } = applied
    const moves = fetched.flattened.records.flatMap(({ id, updatedAt }): Move[] => {
      const stored = previous.get(id)
      if (stored && !supersedes(updatedAt, fetched.startedAt, stored)) return []
      const before = stored && stored.deletedAt === null ? stored.updatedAt : null
      return before === updatedAt ? [] : [{ before, after: updatedAt }]
    })
    this.#stored += moves.length
    return moves
  }

  /** Asks about rows that the list does not show; stores records that have moved, and marks rows whose record is gone. */
  async settle(candidates: readonly Candidate[]): Promise<Move[]> {
    const stored = await this.#liveRows.versions(candidates.map(({ id }) => id))
    const doubtful = candidates.filter(({ id, updatedAt }) => {
      const version = stored.get(id)
      return version?.deletedAt === null && version.updatedAt === updatedAt
    })
    const breaker = await this.#limit()
    const gone: GoneRow[] = []
    const moves: Move[] = []
    // Nobody asks for a hundred thousand records in vain: where all of a sample are gone, the rest is not asked for.
    const isSampled = breaker.trips(doubtful.length)
    const sample = isSampled ? doubtful.slice(0, sampleSize) : doubtful
    for (const part of isSampled ? [sample, doubtful.slice(sampleSize)] : [doubtful]) {
      const answer = await this.#confirmation.ask(part)
      for (const fetched of answer.moved) moves.push(...(await this.store(fetched)))
      gone.push(...answer.gone)
      if (isSampled && part === sample && gone.length === part.length) breaker.refuse(doubtful.length)
    }
    breaker.pass(gone.length)
    const marked = await markDeleted(this.context, this.task, gone)
    this.#deleted += marked.length
    return [...moves, ...marked.map(({ updatedAt }): Move => ({ before: updatedAt, after: null }))]
  }

  async #limit(): Promise<Breaker> {
    this.#breaker ??= new Breaker({
      live: await this.#liveRows.count(epoch, forever),
      share: this.options.maxDeletes,
      accepted: this.options.acceptDeletes,
    })
    return this.#breaker
  }
}

const unevenText = ({ source, warehouse }: ComparedCursor): string =>
  `Records kept moving while the counts were compared: ${source} at the source, ${warehouse} in the warehouse. Differences that were found are repaired; the next reconcile looks again`
