import type { Int64 } from '../../schema/resource.js'
import type { ListPort } from '../walk/count.js'
import type { WalkPage } from '../walk/walk.js'
import type { Cell, Move } from './histogram.js'

/** A live row that a list of its range does not show. */
export interface Candidate {
  readonly id: Int64
  readonly updatedAt: string
}

/** How a comparison reaches the source and the warehouse. */
export interface ComparePort<P> extends ListPort<P> {
  /** How the live rows of a range lie in time, in cells of about equal size. */
  cells(after: string, until: string): Promise<readonly Cell[]>
  /** The live rows of a range: `updated_at` by id. */
  rows(after: string, until: string): Promise<ReadonlyMap<Int64, string>>
  /** Takes a page into the warehouse; returns how its rows moved by that. */
  store(page: WalkPage<P>): Promise<readonly Move[]>
  /** Asks the source about each; what is gone is marked, what has moved is stored. Returns how rows moved by that. */
  settle(candidates: readonly Candidate[]): Promise<readonly Move[]>
  /**
   * Of the rows that were counted last: mends what has vanished from the warehouse, or was changed in it, and returns
   * how rows moved by that. undefined: there is such, and a list of everything is the better way to find it.
   */
  recall(): Promise<readonly Move[] | undefined>
  /** Brings in what has come since, before a comparison is made again. */
  refresh(): Promise<void>
  random(): number
  note(message: string, fields: Record<string, unknown>): void
}

export interface Comparison {
  /** `counting`: at cut points; `listing`: to list everything costs fewer requests, and is still to be done. */
  readonly method: 'counting' | 'listing'
  /** Every count agrees in the end. */
  readonly isEven: boolean
  /** Records that the source counts and that cannot be stored. */
  readonly odd: number
  readonly source: number
  readonly warehouse: number
  /** Cut points at which counts were compared, the total included. */
  readonly counted: number
  /** Ranges that were listed. */
  readonly listed: number
}
