import type { Int64 } from '../../../schema/resource.js'
import type { Balance, Doubts, WalkProgress } from './types.js'

/**
 * How the books stand. `closed`: no record was deleted during the walk, and the walk saw exactly the records that
 * exist. `complete`: the walk lost none, because it stepped back for each deleted record, or read the late zone twice.
 * `open`: a record may be missing.
 */
export type Standing = 'closed' | 'complete' | 'open'

export interface OpenBook {
  readonly floor: string
  /** T0. */
  readonly total: number
  /** Newest `updated_at` of the first response, but none that lies in the future (clocks.ts). */
  readonly ceiling: string
  /** A record newer than this may become visible after the first response, though it is no newer than the ceiling. */
  readonly lateFrom?: string
  /** Whether the first response showed every record newer than `lateFrom`. */
  readonly isZoneSeen?: boolean
  /** Whether the first response showed every record newer than the ceiling: not where pages of them lie ahead of it. */
  readonly isTopSeen?: boolean
}

/** What an earlier process has left of a book. */
export interface RestoredBook {
  readonly progress: Omit<WalkProgress, 'floor' | 'below' | 'part' | 'doubts'> & {
    readonly doubts?: Partial<Doubts>
  }
  readonly lateFrom: string
  readonly ids: readonly Int64[]
  readonly entered: readonly Int64[]
}

/** How many records were counted and not seen, if no total fell and all that came is known; else undefined. */
export const missingOf = ({ first, last, distinct, entered, fallen }: Balance): number | undefined =>
  fallen === 0 && first + entered === last ? last - distinct : undefined

/** Whether totals fell, and what was seen can be all that there is, besides what was deleted since. */
export function isPlausibleFall({ first, last, distinct, entered, fallen }: Balance): boolean {
  const deleted = first + entered - last
  return fallen > 0 && deleted >= fallen && distinct >= last && distinct <= last + deleted
}
