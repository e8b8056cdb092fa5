/** The types that walks and ranges share with their callers and with each other. */
import type { Int64 } from '../../../schema/resource.js'
import type { Finding, Hole } from './anomalies.js'
import type { Clocks } from './clocks.js'
import type { ObservedRecord } from './observed.js'
import type { OlderCount } from './olderpart.js'
import type { Balance } from './standing.js'
import type { Claim, Evidence } from './verdict.js'

/** One response of the walked list: the part that the books need, and the part that the caller will store. */
export interface WalkPage<P> {
  /** `total_count`. If the source sends none, the number of records that the pages so far have shown to exist. */
  readonly total: number
  /** The source sent no `total_count`. */
  readonly isUncounted?: boolean | undefined
  /** The page number of the request. */
  readonly page: number
  /**
   * According to the total, in pages of the requested size. The pages themselves show where the list ends, not this
   * number.
   */
  readonly totalPages: number
  /** The source says that more pages follow, although the total counts no more records. */
  readonly goesOn?: boolean | undefined
  /** Number of records on the page, including unusable ones. */
  readonly records: number
  readonly observed: readonly ObservedRecord[]
  /** The page never arrived, but smaller pages of this size did. */
  readonly readable?: number | undefined
  /** Records of the page that no response shows. */
  readonly holes?: readonly Hole[] | undefined
  /** Absent if time doesn't matter; then every stamp is trusted. */
  readonly clocks?: Clocks
  /** The walk passes this to `store` unchanged. */
  readonly payload: P
}

/** The head of a list: its newest record and its length. One small request gets both. */
export interface ListHead {
  readonly newest: string
  readonly total: number
}

/** The part of the books that a resumed walk needs in addition to the numbers: see Book. */
export interface Doubts {
  readonly isZoneSeen: boolean
  /** A record was seen, and nothing shows whether it entered the list or was there before. */
  readonly isOpen: boolean
  readonly isLate: boolean
  readonly hasMoved: boolean
  readonly isTopSeen: boolean
  readonly hasStirred: boolean
  readonly older?: OlderCount | undefined
}

/** Progress within a walk, committed with the rows it refers to, so a killed walk resumes where it stopped. */
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
  /** Records of the list after the last page that was read, at the time of reading. */
  readonly below: number
  /**
   * Boundary and records below within an unfinished burst, and the head of the list before the burst. If a resumed walk
   * finds the same head, the list hasn't changed, and the pages of the burst count as read.
   */
  readonly ahead?: (ListHead & { readonly boundary: string; readonly below: number }) | undefined
  /** Records per page, if the source serves fewer than usually requested. */
  readonly size?: number | undefined
  /** Number of the last part of ids that belongs to this progress. */
  readonly part: number
}

/** The state of a walk that commits in the transaction of a page. */
export interface Commit {
  /** null: the walk is over. undefined: the stored progress doesn't change. */
  readonly progress?: WalkProgress | null
  /** New ids of this page, and ids of earlier pages that entered the list. Kept until the walk is over. */
  readonly part?: {
    readonly number: number
    readonly ids: readonly Int64[]
    readonly entered: readonly Int64[]
  }
  /** The verdict, with the page that completes the walk. */
  readonly outcome?: WalkOutcome
}

export interface WalkOutcome extends Claim {
  /** What the claim rests on. */
  readonly evidence: Evidence
  /** Newest `updated_at` of the first response that isn't in the future. null if the list was empty. */
  readonly ceiling: string | null
  /** Records stamped at least a minute ahead of the source's clock. Absent if there are none. */
  readonly ahead?: { readonly records: number; readonly until: string } | undefined
  readonly books: Balance
  /** Anomalies of the list. Absent if there are none. */
  readonly finding?: Finding
}

/** A list of the records newer than some time, as everything that reads it reaches it. */
export interface List<P> {
  fetch(page: number, perPage: number): Promise<WalkPage<P>>
  /** How many records are newer than t (docs/dev/architecture.md, What else the engine rests on). */
  countAfter(t: string): Promise<number>
  /**
   * How many pages may be under way at the same time. 0: a page is requested when the previous page is stored. 1: when
   * the previous page has arrived, still strictly one after the other. More: pages are read in bursts.
   */
  readAhead(): number
  note(message: string, fields: Record<string, unknown>): void
}

/** Stores a page with its commit in one transaction. Returns the versions that the warehouse had before, by id. */
export type Store<P> = (page: WalkPage<P>, commit: Commit) => Promise<(id: Int64) => string | undefined>

export interface WalkPlan {
  readonly floor: string
  /** Anomalies that earlier walks found in the list; the walk doesn't need to search for them again. */
  readonly known?: Finding
  /** Checks whether totals that were found to jump still do. */
  readonly looksAgain?: boolean
  /** The page size of each reading: see `pageSizes`. */
  readonly pageSizes: readonly number[]
  readonly resume?:
    | {
        readonly progress: WalkProgress
        readonly ids: readonly Int64[]
        readonly entered: readonly Int64[]
      }
    | undefined
  /**
   * The floor of the next walk if this walk ends with the given ceiling: records newer than that floor may become
   * visible late. Without this function, the walk assumes that no record comes late.
   */
  readonly nextFloor?: (ceiling: string) => string
  /** Rows that the warehouse has above the floor. A list that is far shorter isn't trusted. */
  readonly expected?: number | undefined
}

/** Where the pages of a range go. */
export interface RangeStore<P> {
  /** Takes a page that shows a record of the range. With a boundary: see `reached`. */
  take(page: WalkPage<P>, boundary: string | null): Promise<void>
  /** Every record of the range newer than the boundary has been taken: a later run may begin there. */
  reached?(boundary: string): Promise<void>
}

/** Records with `after` < `updated_at` <= `until`. `until` is the end of a second, or `forever`. */
export interface ListRange {
  /** The page sizes of the readings, the largest first; default: see `pageSizes`. */
  readonly pageSizes?: readonly number[] | undefined
  readonly after: string
  readonly until: string
  /** Records newer than `until`, as far as known; they determine the page to begin with. */
  readonly newer: number
  /** Records newer than `after`, if known; one response can then show a small range. */
  readonly total?: number | undefined
  /** The list is known not to be newest first: everything newer than `after` is read, and `until` is `forever`. */
  readonly isUnordered?: boolean | undefined
  /** Anomalies that walks have found in the list. */
  readonly known?: Partial<Pick<Finding, 'size' | 'hidden' | 'isUncounted'>>
}

export interface RangeOutcome extends Claim {
  readonly evidence: Evidence
  /** Distinct records of the range that were seen, including unusable ones. */
  readonly seen: number
  /** Records of the range at the beginning of the reading, by the source's count. */
  readonly expected: number
}
