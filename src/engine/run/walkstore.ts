/*
 * What a walk stores in the warehouse: each page with the state that commits with it (parts of the current walk, its
 * progress, its end), what an earlier run left of the walk, and what was measured. cursorwalk.ts walks with it.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { reasons } from '../base/reasons.js'
import type { Clocks } from '../list/clocks.js'
import { isWholeFrom } from '../list/cutpoint.js'
import { decodeIds, encodeIds } from '../list/idset.js'
import { type Memory, storedMemory } from '../list/memory.js'
import type { Commit, WalkOutcome, WalkPage, WalkPlan } from '../list/types.js'
import { endRefill, moveCursor } from '../warehouse/state/cursors.js'
import { forgetNameless } from '../warehouse/state/quarantine.js'
import { forgetWalkParts, readWalkParts, storeWalkPart } from '../warehouse/state/walkparts.js'
import type { EncodedPage, Fetched } from '../warehouse/store/versionbatch.js'
import type { WalkStore } from './cursorwalk.js'
import type { Counts } from './cursorwork.js'
import { Freshness, unmeasured } from './freshness.js'
import { polled } from './polls.js'
import { type BegunWalk, progressFor } from './resumecursor.js'
import { believedWatermark, plannedWatermark, stampsAheadColumns, warnOfStamps } from './stampsahead.js'
import { PageStore } from './store.js'
import type { AfterWalk, CursorRun } from './tenant.js'

/** The walk whose state is stored. Canonical timestamps. */
interface WalkUnderWay extends BegunWalk {
  readonly cursor: CursorRun
  /** Nothing of the list was in the warehouse before. */
  readonly isFirstLoad: boolean
  readonly startedAt: string
  /** The watermark before it, and that of the last planned walk. */
  readonly before: string | null
  readonly plannedBefore: string | null
  /** undefined if an earlier run began it. */
  readonly freshness: Freshness | undefined
  /** Whether this walk or an earlier one has left parts: to delete what isn't there costs each idle list a statement. */
  readonly hasParts: boolean
}

const slotOf = ({ refill }: Pick<BegunWalk, 'refill'>): 'walk' | 'refill_walk' =>
  refill === null ? 'walk' : 'refill_walk'

/** A watermark never moves back: the newest record may have been deleted since. */
function watermarkAfter(before: string | null, { ceiling }: WalkOutcome): string | null {
  if (ceiling === null) return before
  return before !== null && before > ceiling ? before : ceiling
}

/**
 * Where the next planned walk starts, before the overlap is subtracted. A quick walk goes back less far than the
 * overlap, so it doesn't show what came late since the last planned walk, unless it read the whole list.
 */
export const plannedAfter = (
  { isQuick, floor, plannedBefore }: Pick<WalkUnderWay, 'isQuick' | 'floor' | 'plannedBefore'>,
  outcome: WalkOutcome,
): string | null => (isQuick && !isWholeFrom(floor) ? plannedBefore : watermarkAfter(plannedBefore, outcome))

/**
 * The state that commits with a page: the walk's new ids, then its progress or, with the last page, its end. `memory`:
 * what is remembered about the list, if that changed.
 */
export function pageStatements(
  walk: WalkUnderWay,
  { progress, part, outcome }: Commit,
  memory?: Memory,
): CompiledQuery[] {
  const { db } = walk.cursor.warehouse
  const slot = slotOf(walk)
  const key = { ...walk.cursor.key, slot }
  const statements: CompiledQuery[] = []
  if (!walk.isQuick && (part?.number === 1 || (outcome && walk.hasParts)))
    statements.push(forgetWalkParts(db, key))
  if (!walk.isQuick && part) {
    const [ids, entered] = [encodeIds(part.ids), encodeIds(part.entered)]
    statements.push(storeWalkPart(db, key, { number: part.number, ids, entered }))
  }
  if (outcome) {
    if (isWholeFrom(walk.floor)) statements.push(forgetNameless(db, key, walk.startedAt))
    if (walk.refill !== null) statements.push(endRefill(db, key, walk.refill))
    statements.push(finished(walk, outcome, memory ?? {}))
    return statements
  }
  if (!walk.isQuick && progress !== undefined) {
    const kept = progress && { ...progress, mode: walk.mode, refill: walk.refill }
    statements.push(moveCursor(db, key, { [slot]: kept }))
  }
  if (memory) statements.push(moveCursor(db, key, { remembered: storedMemory(memory) }))
  return statements
}

/** The walk is complete: the watermark moves in the transaction of its last rows. */
function finished(walk: WalkUnderWay, outcome: WalkOutcome, memory: Memory): CompiledQuery {
  const { cursor, before, freshness } = walk
  const { reason, verdict } = outcome
  const isDone = verdict !== 'unproven'
  return moveCursor(cursor.warehouse.db, cursor.key, {
    watermark: watermarkAfter(before, outcome),
    planned_watermark: plannedAfter(walk, outcome),
    status: isDone ? 'ok' : 'failed',
    completeness: verdict,
    reason,
    last_success_at: isDone ? cursor.now() : undefined,
    last_error: isDone ? null : reason && reasons[reason],
    last_run_id: cursor.warehouse.runId,
    [slotOf(walk)]: walk.isQuick ? undefined : null,
    remembered: storedMemory(memory),
    ...stampsAheadColumns(outcome),
    ...freshness?.columns(outcome),
    ...(freshness ? freshness.polled(walk.startedAt, outcome) : polled(undefined, walk.startedAt)),
    // If the list was empty here, no row here can be gone there: its first load has seen everything.
    ...(walk.isFirstLoad && freshness?.firstLoad(outcome)),
  })
}

/** The store of a cursor's walks, in the warehouse of its run. */
export class WarehouseStore implements WalkStore {
  watermark: string | null
  planned: string | null
  readonly #startedAt: string
  readonly #pages: PageStore
  #walk: WalkUnderWay | undefined
  #afterWalk: AfterWalk | undefined

  constructor(private readonly cursor: CursorRun) {
    const { state } = cursor
    this.watermark = state?.watermark ?? null
    this.planned = state?.planned_watermark ?? null
    this.#startedAt = cursor.now()
    this.#pages = new PageStore(cursor, 'walk')
  }

  get counts(): Counts {
    return this.#pages.counts
  }

  get walkedAt(): string | null {
    return this.#walk?.freshness?.walkedAt ?? null
  }

  get older(): ReadonlySet<Int64> {
    return this.#walk?.freshness?.older ?? new Set()
  }

  async believe(ask: () => Promise<Clocks | undefined>): Promise<void> {
    this.watermark = await believedWatermark(this.cursor, this.watermark, ask)
    this.planned = await plannedWatermark(this.cursor, this.watermark)
  }

  countRows(): Promise<number> {
    const { root, tenantId, warehouse } = this.cursor
    return warehouse.countRows(root, tenantId)
  }

  async open(walk: BegunWalk): Promise<Pick<WalkPlan, 'resume' | 'expected'>> {
    const [before, plannedBefore] = [this.watermark, this.planned]
    const resume = walk.isSecond ? undefined : await this.#left(walk)
    // Rows may exist without a watermark: from another source, or from an interrupted first load.
    const isFirst = before === null && !resume && !walk.isSecond
    const isFirstLoad = isFirst && (await this.countRows()) === 0
    const isAll = walk.mode === 'full' && before !== null && !walk.isSecond
    const expected = isAll ? await this.countRows() : undefined
    const freshness = resume ? undefined : this.#measuring(walk)
    const { cursor } = this
    const hasParts = cursor.state?.[slotOf(walk)] != null
    const now = {
      cursor,
      isFirstLoad,
      startedAt: this.#startedAt,
      before,
      plannedBefore,
      freshness,
      hasParts,
    }
    this.#walk = { ...walk, ...now }
    this.#afterWalk = resume ? undefined : await cursor.run.beforeWalk?.(cursor)
    return { resume, expected }
  }

  /** What an earlier process left of the walk. */
  async #left(walk: BegunWalk): Promise<WalkPlan['resume']> {
    const { key, state, warehouse } = this.cursor
    const progress = walk.isQuick ? undefined : progressFor(state, walk, this.watermark === null)
    if (!progress) return undefined
    const parts = await readWalkParts(warehouse, { ...key, slot: slotOf(walk) }, progress.part)
    const all = (name: 'ids' | 'entered') => parts.flatMap((part) => decodeIds(part[name] ?? ''))
    return { progress, ids: all('ids'), entered: all('entered') }
  }

  #measuring({ floor, mode, refill, isQuick }: BegunWalk): Freshness {
    const isWhole = isWholeFrom(floor)
    const isMeasured = mode === 'sync' && !isWhole
    return new Freshness(this.cursor, { isMeasured, isNews: refill === null, isQuick, isWhole })
  }

  answered(clocks: Clocks): void {
    this.#walk?.freshness?.answered(clocks)
  }

  async store(
    page: WalkPage<Fetched<EncodedPage>>,
    commit: Commit,
    memory?: Memory,
  ): Promise<(id: Int64) => string | undefined> {
    const { payload, total, clocks } = page
    const walk = this.#walk
    const statements = walk ? pageStatements(walk, commit, memory) : this.#remembering(memory)
    const { outcome } = commit
    const applied = await this.#pages.store(payload, { statements, expected: walk ? total : undefined })
    walk?.freshness?.stored(payload.flattened.records, applied, clocks)
    if (walk && commit.part) this.#walk = { ...walk, hasParts: true }
    if (walk && outcome) {
      this.watermark = watermarkAfter(walk.before, outcome)
      this.planned = plannedAfter(walk, outcome)
      warnOfStamps(this.cursor, outcome)
    }
    return (id) => applied.previous.get(id)?.updatedAt
  }

  /** A page that is stored before a walk begins shows what a hole hid. */
  #remembering(memory: Memory | undefined): CompiledQuery[] {
    const { key, warehouse } = this.cursor
    return memory ? [moveCursor(warehouse.db, key, { remembered: storedMemory(memory) })] : []
  }

  async close(outcome: WalkOutcome, { twice = 0 }: Memory): Promise<number> {
    const { floor = '', freshness } = this.#walk ?? {}
    const older = await freshness?.keep(outcome, { startedAt: this.#startedAt, twice })
    await this.#afterWalk?.(floor)
    return older ?? 0
  }

  async giveUp(outcome: WalkOutcome): Promise<void> {
    const { cursor } = this
    warnOfStamps(cursor, outcome)
    if (this.#walk) await giveUp(this.#walk, outcome)
  }
}

async function giveUp(walk: WalkUnderWay, outcome: WalkOutcome): Promise<void> {
  const { cursor, isQuick } = walk
  const { key, warehouse } = cursor
  const slot = slotOf(walk)
  const ended = moveCursor(warehouse.db, key, {
    status: 'failed',
    completeness: outcome.verdict,
    reason: outcome.reason,
    last_error: outcome.reason && reasons[outcome.reason],
    last_run_id: warehouse.runId,
    [slot]: isQuick ? undefined : null,
    ...stampsAheadColumns(outcome),
    walked_at: isQuick ? undefined : unmeasured.walked_at,
  })
  const forgotten = isQuick ? [] : [forgetWalkParts(warehouse.db, { ...key, slot })]
  await warehouse.write([...forgotten, ended])
}
