/* What is remembered of an odd list, as `status` tells it. */
import { hiddenIn, memoryOf } from '../../engine/walk/memory.js'

export interface OddList {
  /** Places at which the list shows a record again. */
  readonly listed_twice: number
  /** Records that it counts and never shows. */
  readonly not_shown: number
  /** Records that break each answer with them, and between which times they stand. */
  readonly unreadable: number
  readonly holes: readonly { readonly after: string; readonly until: string; readonly records: number }[]
  readonly not_newest_first: boolean
  readonly no_true_total: boolean
  readonly longer_without_filter: boolean
}

export function oddList(remembered: unknown): OddList | null {
  if (remembered === null) return null
  const memory = memoryOf(remembered)
  const { twice = 0, holes = [], isUnordered = false, isUncounted = false, isBeforeAll = false } = memory
  return {
    listed_twice: twice,
    not_shown: hiddenIn(memory),
    unreadable: holes.reduce((sum, { records }) => sum + records, 0),
    holes: holes.map(({ after, until, records }) => ({ after, until, records })),
    not_newest_first: isUnordered,
    no_true_total: isUncounted,
    longer_without_filter: isBeforeAll,
  }
}
