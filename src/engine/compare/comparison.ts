import type { Int64 } from '../../../schema/resource.js'
import type { AnomalyCounts, Finding } from '../list/anomalies.js'
import type { ObservedRecord } from '../list/observed.js'
import type { WalkPage } from '../list/types.js'
import type { Cell, Move } from './histogram.js'

/** A live row that a list of its range doesn't show. */
export interface Candidate {
  readonly id: Int64
  readonly updatedAt: string
}

/** How a comparison reaches the source and the warehouse; features/reconcile implements it, for reconcile and verify. */
export interface ComparePort<P> {
  /** The page sizes of the readings, the largest first; default: see `pageSizes`. */
  readonly pageSizes?: readonly number[] | undefined
  /** One page of the records newer than `after`. */
  fetch(after: string, page: number, perPage: number): Promise<WalkPage<P>>
  /** The live rows of a range by time, in cells of about equal size. */
  cells(after: string, until: string): Promise<readonly Cell[]>
  /** The live rows of a range: `updated_at` by id. */
  rows(after: string, until: string): Promise<ReadonlyMap<Int64, string>>
  /** Stores a page in the warehouse. Returns how rows moved. */
  store(page: WalkPage<P>): Promise<readonly Move[]>
  /**
   * Queries the source for each candidate, marks deleted records and stores moved ones. Also queries records stored
   * earlier that the source showed in an older version than their row. Returns how rows moved. `counted`: how many of
   * the candidates the source may count without showing them.
   */
  settle(candidates: readonly Candidate[], counted?: number): Promise<readonly Move[]>
  /** Rows that the source's list doesn't show and about which its answers by id say nothing. */
  inDoubt(): number
  /** Stores the records that have arrived since, before comparing again. */
  refresh(): Promise<void>
  /** Anomalies that walks have found in the list. */
  readonly known: Finding
  random(): number
  note(message: string, fields: Record<string, unknown>): void
}

export interface Comparison {
  /** `counting`: at cut points. `listing`: listing everything costs fewer requests; the caller still has to do it. */
  readonly method: 'counting' | 'listing'
  /** Whether every count agrees at the end. */
  readonly isEven: boolean
  /** What the source counts but can never be a row. */
  readonly anomalies: AnomalyCounts
  /** Records at the source by its count, minus the places that show no record, or a record shown elsewhere. */
  readonly source: number
  readonly warehouse: number
  /** Cut points at which counts were compared, including the total. */
  readonly counted: number
  /** Ranges that were listed. */
  readonly listed: number
}

/** Records shown in a different version from their row's, whose rows didn't move when they were stored. */
export const notTaken = (other: readonly ObservedRecord[], moves: readonly Move[]): Int64[] => {
  const taken = new Set(moves.map(({ after }) => after))
  return other.flatMap(({ id, updatedAt }) => (typeof id === 'string' || taken.has(updatedAt) ? [] : [id]))
}

/** Rows that a list of their range didn't show. */
export const notShown = (
  rows: ReadonlyMap<Int64, string>,
  shown: ReadonlySet<Int64 | string>,
): readonly Candidate[] => [...rows].flatMap(([id, updatedAt]) => (shown.has(id) ? [] : [{ id, updatedAt }]))
