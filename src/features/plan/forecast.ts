import { fullCost, pageRecords, quietCost } from '../../engine/compare/comparisoncost.js'
import { usualLimits } from '../../engine/list/pagesize.js'
import { burstOf, firstBurst, largestBurst, smallestBurst } from '../../engine/list/prefetch.js'

/**
 * Requests of a walk over this many records: one per page, one for the page after a full last one, and the first page
 * again if there are several. `page`: records per page, if known.
 */
export const walkCost = (records: number, page = pageRecords): number => fullCost(records, page)

/** The same for the whole list: if no page size is known, a single page may be followed by another. */
export function wholeCost(records: number, page?: number): number {
  if (page !== undefined) return fullCost(records, page)
  const isLimit = records < pageRecords && usualLimits.has(records)
  return fullCost(records) + (isLimit ? 1 : 0)
}

/** Whether the last page is full with this many records. */
const isFullAt = (records: number, page: number): boolean => records > 0 && records % page === 0

/** Requests of a walk that resumes another one with this many records left to read. */
export const resumedCost = (records: number, below: number, page = pageRecords): number =>
  2 + Math.ceil(records / page) - Math.floor((records - below) / page) + (isFullAt(records, page) ? 3 : 2)

/**
 * Checks for this many pages when they are read in bursts: one per burst, and bursts grow while the list doesn't
 * change.
 */
export function burstChecks(pages: number): number {
  let checks = 0
  let width = firstBurst
  for (let left = pages - 1; left >= smallestBurst; width = Math.min(largestBurst, width * 2)) {
    checks++
    left -= burstOf(left, width)
  }
  return checks
}

/** Storing a page takes about 10 ms. If a response takes several times as long, a run reads pages in bursts. */
export const readsAhead = (secondsEach: number, most = 16): boolean => most > 1 && secondsEach > 0.03

/** Requests of a comparison that finds nothing to fix. */
export const compareCost = (rows: number, page = pageRecords): number =>
  rows <= page ? fullCost(rows, page) : quietCost(rows, page)

/** Requests of a backfill of this many records, with this many newer ones in front of them. */
export function backfillCost(newer: number, records: number, page = pageRecords): number {
  const first = Math.max(1, Math.ceil(newer / page))
  const last = Math.max(first, Math.ceil((newer + records) / page))
  return 1 + last - first + (isFullAt(newer + records, page) ? 2 : 1)
}
