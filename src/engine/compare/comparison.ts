import type { Int64 } from '../../../schema/resource.js'
import type { AnomalyCounts, Finding } from '../walk/anomalies.js'
import type { ObservedRecord } from '../walk/observed.js'
import type { ListPort, WalkPage } from '../walk/types.js'
import type { Cell, Move } from './histogram.js'

/** A live row that a list of its range does not show. */
export interface Candidate {
  readonly id: Int64
  readonly updatedAt: string
}

/** How a comparison reaches the source and the warehouse; features/reconcile and features/verify implement it. */
export interface ComparePort<P> extends ListPort<P> {
  /** The live rows of a range by time, in cells of about equal size. */
  cells(after: string, until: string): Promise<readonly Cell[]>
  /** The live rows of a range: `updated_at` by id. */
  rows(after: string, until: string): Promise<ReadonlyMap<Int64, string>>
  /** Stores a page in the warehouse; returns how rows moved by that. */
  store(page: WalkPage<P>): Promise<readonly Move[]>
  /**
   * Asks the source about each candidate, marks deleted records and stores moved ones; asks about the records, too, that
   * were stored before and that the source showed in older versions than their rows. Returns how rows moved by that.
   */
  settle(candidates: readonly Candidate[]): Promise<readonly Move[]>
  /**
   * Mends the rows that the last run counted and that have vanished from the warehouse or changed in it since; returns
   * how rows moved by that. undefined: there are such rows, and a list of everything is the better way to find them.
   */
  recall(): Promise<readonly Move[] | undefined>
  /** Stores the records that have come since, before another comparison. */
  refresh(): Promise<void>
  /** What walks have found odd about the list. */
  readonly known: Finding
  random(): number
  note(message: string, fields: Record<string, unknown>): void
}

export interface Comparison {
  /** `counting`: at cut points. `listing`: a list of everything costs fewer requests; the caller has yet to read it. */
  readonly method: 'counting' | 'listing'
  /** Every count agrees at the end. */
  readonly isEven: boolean
  /** What the source counts and can never be a row. */
  readonly anomalies: AnomalyCounts
  /** Records at the source by its count, less the places that show none, or none of their own. */
  readonly source: number
  readonly warehouse: number
  /** Cut points at which counts were compared, the total included. */
  readonly counted: number
  /** Ranges that were listed. */
  readonly listed: number
}

/** Records that were shown in another version than their row's, and that storing them did not move. */
export const notTaken = (other: readonly ObservedRecord[], moves: readonly Move[]): Int64[] => {
  const taken = new Set(moves.map(({ after }) => after))
  return other.flatMap(({ id, updatedAt }) => (typeof id === 'string' || taken.has(updatedAt) ? [] : [id]))
}

/** Rows that a list of their range did not show. */
export const notShown = (
  rows: ReadonlyMap<Int64, string>,
  shown: ReadonlySet<Int64 | string>,
): readonly Candidate[] => [...rows].flatMap(([id, updatedAt]) => (shown.has(id) ? [] : [{ id, updatedAt }]))
