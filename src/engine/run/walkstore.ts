/*
 * The state of a cursor that commits with the pages of its walk: parts of the current walk, its progress, its end. Used
 * by cursorwalk.ts, which stores each page together with these statements.
 */
import type { CompiledQuery } from 'kysely'
import { reasons } from '../base/reasons.js'
import { encodeIds } from '../list/idset.js'
import { type Memory, mostSearchedPages, storedMemory } from '../list/memory.js'
import type { PageCommit, WalkOutcome } from '../list/types.js'
import { endRefill, forgetWalkParts, moveCursor, storeWalkPart, type WalkSlot } from '../warehouse/cursors.js'
import { forgetNameless } from '../warehouse/quarantine.js'
import { type Freshness, unmeasured } from './freshness.js'
import { polled } from './polls.js'
import type { WalkMode } from './resumecursor.js'
import { stampsAheadColumns } from './stampsahead.js'
import type { CursorRun } from './tenant.js'

/** The walk whose state is stored. Canonical timestamps. */
export interface WalkUnderWay {
  readonly cursor: CursorRun
  readonly mode: WalkMode
  /** Why the whole list is read once. null if it isn't. */
  readonly refill: string | null
  readonly slot: WalkSlot
  /**
   * A quick walk keeps no progress: if it is cut short, it starts over, and the progress of a planned walk isn't
   * touched.
   */
  readonly isQuick: boolean
  /** Nothing of the list was in the warehouse before. */
  readonly isFirstLoad: boolean
  /** Whether it reads the list from its beginning. */
  readonly isWhole: boolean
  readonly startedAt: string
  /** The watermark before it, and that of the last planned walk. */
  readonly before: string | null
  readonly plannedBefore: string | null
  readonly freshness: Freshness | undefined
}

/** A watermark never moves back: the newest record may have been deleted since. */
export function watermarkAfter(before: string | null, { ceiling }: WalkOutcome): string | null {
  if (ceiling === null) return before
  return before !== null && before > ceiling ? before : ceiling
}

/**
 * Where the next planned walk starts, before the overlap is subtracted. A quick walk goes back less far than the
 * overlap, so it doesn't show what came late since the last planned walk, unless it read the whole list.
 */
export const plannedAfter = (
  { isQuick, isWhole, plannedBefore }: Pick<WalkUnderWay, 'isQuick' | 'isWhole' | 'plannedBefore'>,
  outcome: WalkOutcome,
): string | null => (isQuick && !isWhole ? plannedBefore : watermarkAfter(plannedBefore, outcome))

/** The state that commits with a page: the walk's new ids, then its progress or, with the last page, its end. */
export function pageStatements(
  walk: WalkUnderWay,
  { progress, part, outcome }: PageCommit,
  memory: Memory = {},
): CompiledQuery[] {
  const { db } = walk.cursor.warehouse
  const key = { ...walk.cursor.key, slot: walk.slot }
  const statements: CompiledQuery[] = []
  if (!walk.isQuick && (part?.number === 1 || outcome)) statements.push(forgetWalkParts(db, key))
  if (!walk.isQuick && part) {
    const [ids, entered] = [encodeIds(part.ids), encodeIds(part.entered)]
    statements.push(storeWalkPart(db, key, { number: part.number, ids, entered }))
  }
  if (outcome) {
    if (walk.isWhole) statements.push(forgetNameless(db, key, walk.startedAt))
    if (walk.refill !== null) statements.push(endRefill(db, key, walk.refill))
    statements.push(finished(walk, outcome, memory))
  } else if (!walk.isQuick && progress !== undefined) {
    const kept = progress && { ...progress, mode: walk.mode, refill: walk.refill }
    statements.push(moveCursor(db, key, { [walk.slot]: kept }))
  }
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
    ...(isDone && { last_success_at: cursor.now() }),
    last_error: isDone ? null : reason && reasons[reason],
    last_run_id: cursor.warehouse.runId,
    ...(!walk.isQuick && { [walk.slot]: null }),
    remembered: storedMemory(memory),
    ...stampsAheadColumns(outcome),
    ...freshness?.columns(outcome),
    ...(freshness ? freshness.polled(walk.startedAt) : polled(undefined, walk.startedAt)),
    // If the list was empty here, no row here can be gone there: its first load has seen everything.
    ...(walk.isFirstLoad && freshness?.firstLoad(outcome)),
  })
}

/**
 * The books don't close: rows that arrived stay stored, the watermark doesn't move, and the next run begins a new walk.
 */
export async function giveUp({ cursor, slot, isQuick }: WalkUnderWay, outcome: WalkOutcome): Promise<void> {
  const { key, warehouse } = cursor
  const ended = moveCursor(warehouse.db, key, {
    status: 'failed',
    completeness: outcome.verdict,
    reason: outcome.reason,
    last_error: outcome.reason && reasons[outcome.reason],
    last_run_id: warehouse.runId,
    ...(!isQuick && { [slot]: null }),
    ...stampsAheadColumns(outcome),
    ...(!isQuick && unmeasured),
  })
  const forgotten = isQuick ? [] : [forgetWalkParts(warehouse.db, { ...key, slot })]
  await warehouse.write([...forgotten, ended])
}

/** Once a day, a short list is searched for what it counts but doesn't show, in one reading of the whole list. */
export async function isSearchDue(
  { cursor, mode, startedAt }: WalkUnderWay,
  { surplus }: Memory,
): Promise<boolean> {
  if (mode === 'full' || !surplus || surplus.searchedOn === startedAt.slice(0, 10)) return false
  const rows = await cursor.warehouse.countRows(cursor.root, cursor.tenantId)
  return rows <= mostSearchedPages * 100
}
