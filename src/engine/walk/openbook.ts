import type { Int64 } from '../../../schema/resource.js'
import type { Doubts, WalkProgress } from './types.js'

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
