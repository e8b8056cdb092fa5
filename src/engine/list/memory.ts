/**
 * What is remembered about an odd list from one walk to the next; verdict.ts takes it into account. It is stored with
 * the cursor (`sync_cursors.remembered`).
 */
import { type Finding, type Hole, nothingFound } from './anomalies.js'
import type { WalkOutcome } from './types.js'
import { judged, movesWatermark } from './verdict.js'

export interface Memory {
  /** What the list counts but never shows. Everything else calls such records hidden; stored rows have this name. */
  readonly surplus?:
    | {
        readonly total: number
        readonly shown: number
        /** The day (UTC) of the last search, and how many searches on different days found the same. */
        readonly searchedOn: string
        readonly searches: number
      }
    | undefined
  /** Places where the list shows a record for the second time. */
  readonly twice?: number | undefined
  readonly isUnordered?: boolean | undefined
  readonly isUncounted?: boolean | undefined
  readonly isUnsteady?: boolean | undefined
  /** The list is longer without a time filter, and comparisons read it without one. */
  readonly isBeforeAll?: boolean | undefined
  /** The source serves this many records per page, however many are requested. */
  readonly size?: number | undefined
  /** Larger pages than this never arrive. A larger one is tried once a day (UTC). */
  readonly readable?: { readonly size: number; readonly triedOn: string } | undefined
  readonly holes?: readonly Hole[] | undefined
  /** What the last reconcile found about records that have left the list. */
  readonly left?:
    | {
        readonly records: number
        /** Those that had left it by then were confirmed at a person's request, without waiting for another day. */
        readonly confirmed?: string | undefined
      }
    | undefined
}

/** As the cursor's column stores it: null if there is no anomaly. */
export const storedMemory = (memory: Memory): Memory | null =>
  Object.values(memory).some((found) => found !== undefined) ? memory : null

export const memoryOf = (remembered: unknown): Memory => (remembered as Memory | null | undefined) ?? {}

/** A list of at most this many pages is searched again once a day for what it counts but doesn't show. */
const mostSearchedPages = 50

/** Once a day, a short list is searched for what it counts but doesn't show, in one reading of the whole list. */
export async function isSearchDue(
  { surplus }: Memory,
  today: string,
  rows: () => Promise<number>,
): Promise<boolean> {
  if (!surplus || surplus.searchedOn === today) return false
  return (await rows()) <= mostSearchedPages * 100
}

export const hiddenIn = ({ surplus }: Memory): number => (surplus ? surplus.total - surplus.shown : 0)

/** What a walk doesn't need to find out again. */
export const knownOf = (memory: Memory): Finding => ({
  hidden: hiddenIn(memory),
  twice: memory.twice ?? 0,
  isUnordered: memory.isUnordered ?? false,
  isUncounted: memory.isUncounted ?? false,
  isUnsteady: memory.isUnsteady ?? false,
  holes: memory.holes ?? [],
  size: memory.size,
})

/** How many records a page of the list will have if `most` are requested, for estimates. */
export const usualPage = ({ size, readable }: Memory, most: number): number =>
  Math.min(most, size ?? most, readable?.size ?? most)

interface WalkEnd {
  /** The walk read the whole list. */
  readonly isWhole: boolean
  /** The day (UTC). */
  readonly today: string
  /** Another reading on the same day counts as another search, because a person asked for it. */
  readonly isSearch: boolean
}

function mismatchAfter(
  before: Memory['surplus'],
  { finding = nothingFound, books }: WalkOutcome,
  end: WalkEnd,
) {
  const { hidden } = finding
  const known = before ? before.total - before.shown : 0
  const seen = { total: books.last, shown: books.last - hidden, searchedOn: end.today }
  if (!end.isWhole) return hidden > known ? { ...seen, searches: 1 } : before
  if (hidden <= 0) return undefined
  if (!before || hidden !== known) return { ...seen, searches: 1 }
  const isAnother = before.searchedOn !== end.today || end.isSearch
  return { ...seen, searches: before.searches + (isAnother ? 1 : 0) }
}

/** What is remembered after a walk that reached the end. A walk of the whole list forgets what it no longer finds. */
function memoryAfter(before: Memory, outcome: WalkOutcome, end: WalkEnd): Memory {
  const { twice, isUnordered, isUncounted, isUnsteady, holes, size } = outcome.finding ?? nothingFound
  const old = end.isWhole ? {} : before
  const surplus = mismatchAfter(before.surplus, outcome, end)
  const places = Math.max(twice, old.twice ?? 0)
  // A short list doesn't show how many records a page may hold; the size is forgotten once a page held more.
  const served = size === undefined ? before.size : size
  const open = [
    ...(old.holes ?? []),
    ...holes.map((hole) => ({ ...old.holes?.find(({ after }) => after === hole.after), ...hole })),
  ]
  return {
    surplus,
    twice: places > 0 ? places : undefined,
    isUnordered: isUnordered || old.isUnordered || undefined,
    isUncounted: isUncounted || old.isUncounted || undefined,
    isUnsteady: isUnsteady || old.isUnsteady || undefined,
    // No walk can tell, because its requests use the filter.
    isBeforeAll: before.isBeforeAll,
    left: before.left,
    size: served ?? undefined,
    readable: before.readable,
    holes: open.length > 0 ? merged(open) : undefined,
  }
}

/** A hole is identified by the record right behind it. */
const merged = (holes: readonly Hole[]): readonly Hole[] => [
  ...new Map(holes.map((hole) => [hole.after, hole])).values(),
]

/** Joins a walk's outcome with what was remembered: what the cursor can claim now, and what to remember from now on. */
export function recalled(
  outcome: WalkOutcome,
  before: Memory,
  end: WalkEnd,
): { readonly outcome: WalkOutcome; readonly memory: Memory } {
  if (!movesWatermark(outcome)) return { outcome, memory: before }
  const memory = memoryAfter(before, outcome, end)
  return { outcome: judged(outcome.evidence, outcome, memory), memory }
}
