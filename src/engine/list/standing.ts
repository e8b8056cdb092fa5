/** The books of a walk in numbers, and whether they close. verdict.ts decides what that claims. */

/** The numbers of the books: for the report, and for the row in `sync_run_cursors` that a verdict rests on. */
export interface Balance {
  /** `total_count` of the first response (T0). */
  readonly first: number
  /** `total_count` of the last response (T1). */
  readonly last: number
  /** Distinct records seen (|S|). */
  readonly distinct: number
  /** Records that entered the list while the walk read it. */
  readonly entered: number
  /** The sum of all falls of `total_count`. */
  readonly fallen: number
}

/** What a book has counted after a final first page that showed nothing new, and what it couldn't decide (books.ts). */
export interface Counted {
  readonly balance: Balance
  /** A record was seen, and nothing shows whether it entered the list or was in it before. */
  readonly isDoubtful: boolean
  /** Records of the first response that were deleted. Each for which no total fell was offset by another record. */
  readonly vanished: number
  /** A record came late, and counts as entered. */
  readonly isLate: boolean
  /** Pages met within records of one `updated_at`, which may have hidden others. */
  readonly hasTies: boolean
  /** The late zone was larger than the first response and had to be read again, because the list moved. */
  readonly zone?:
    | {
        /** The second reading showed the whole zone, and no record that had not been seen. */
        readonly agrees: boolean
        /** Behind the zone, the walk saw as many records as the first response that reached it counted. */
        readonly isRestWhole: boolean
        /** Behind the zone, records may hide: there are ties, or pages were read together. */
        readonly mayHide: boolean
      }
    | undefined
}

export function standingOf({ balance, zone, ...doubts }: Counted): 'closed' | 'complete' | 'open' {
  if (zone) {
    // Behind the zone, a record can only slip where the total falls, and the walk stepped back for that, unless ties
    // hide records there or pages were read together. In those cases, all of that part must have been seen. A record
    // that is counted but never seen may be hidden by anything.
    if (!zone.agrees || balance.distinct - doubts.vanished < balance.last) return 'open'
    return zone.isRestWhole || !zone.mayHide ? 'complete' : 'open'
  }
  if (doubts.isDoubtful) return 'open'
  if (missingIn(balance) === 0 && doubts.vanished === 0) return 'closed'
  return isPlausibleFall(balance) && !doubts.hasTies && !doubts.isLate ? 'complete' : 'open'
}

/** How many records were counted but not seen, if no total fell and every arrival is known. Otherwise undefined. */
export const missingIn = ({ first, last, distinct, entered, fallen }: Balance): number | undefined =>
  fallen === 0 && first + entered === last ? last - distinct : undefined

/** Whether totals fell, and what was seen can be everything except what has been deleted since. */
function isPlausibleFall({ first, last, distinct, entered, fallen }: Balance): boolean {
  const deleted = first + entered - last
  return fallen > 0 && deleted >= fallen && distinct >= last && distinct <= last + deleted
}
