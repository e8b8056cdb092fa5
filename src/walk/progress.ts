import type { Doubts } from './books.js'
import type { ListHead } from './prefetch.js'

/** Progress within a walk: committed with the rows it speaks of, so that a killed walk goes on where it stopped. */
export interface WalkProgress {
  readonly floor: string
  readonly ceiling: string
  readonly first: number
  readonly last: number
  readonly fallen: number
  readonly tied: boolean
  readonly doubts: Doubts
  /** Oldest `updated_at` stored. */
  readonly boundary: string
  /** Records of the list behind the last page read, when it was read. */
  readonly below: number
  /**
   * The same of a window under way, and what the list showed in front of it: if it shows the same when the walk is gone
   * on with, it has stood still, and what was read of the window counts.
   */
  readonly ahead?: ListHead & { readonly boundary: string; readonly below: number }
  /** Number of the row of ids that goes with it. */
  readonly part: number
}

/** How far a walk had come when it was cut short; which ties its window hid is not known. */
export function reached({ ahead, ...progress }: WalkProgress, front: ListHead): WalkProgress {
  if (ahead?.newest !== front.newest || ahead.total !== front.total) return progress
  return { ...progress, boundary: ahead.boundary, below: ahead.below, tied: true }
}
