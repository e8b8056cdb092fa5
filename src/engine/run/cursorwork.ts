/*
 * The work on one cursor, whatever its mode: how it starts, what it counts, what it returns. Every walk and comparison
 * is such work, and run/cursor.ts runs it to its end.
 */

import type { WalkOutcome } from '../list/types.js'
import { judged } from '../list/verdict.js'
import type { Reconciled } from './runreport.js'

/** Records read, and records and rows that changed. */
export interface Counts {
  /** Records that the source showed. */
  readonly records: number
  /** Records that were new to the warehouse or different from what it had. The rest were read again. */
  readonly changed: number
  /** Records that couldn't be stored. */
  readonly unstorable: number
  /** Rows written. */
  readonly written: number
  /** Rows removed, or marked deleted. */
  readonly removed: number
}

export const noCounts: Counts = { records: 0, changed: 0, unstorable: 0, written: 0, removed: 0 }

export const addCounts = (a: Counts, b: Counts): Counts => ({
  records: a.records + b.records,
  changed: a.changed + b.changed,
  unstorable: a.unstorable + b.unstorable,
  written: a.written + b.written,
  removed: a.removed + b.removed,
})

/** How far a cursor has come; also available after a failure. */
export interface CursorProgress extends Counts {
  readonly watermark: string | null
}

/** The result of one cursor, before the run judges it. */
export interface CursorResult extends CursorProgress {
  readonly outcome: WalkOutcome | null
  readonly reconciled?: Reconciled
  /** What kept the work from being complete, if it wasn't a walk. */
  readonly problem?: string | undefined
}

export interface CursorWork {
  run(): Promise<CursorResult>
  readonly progress: CursorProgress
}

/** The outcome if one response showed a whole list of this many records. */
export const wholeOutcome = (records: number): WalkOutcome =>
  judged(
    { basis: { by: 'page', missing: 0 } },
    { ceiling: null, books: { first: records, last: records, distinct: records, entered: 0, fallen: 0 } },
  )
