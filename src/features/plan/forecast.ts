import { isIP } from 'node:net'
import { fullCost, pageRecords, quietCost } from '../../engine/compare/comparisoncost.js'
import type { SourceStats } from '../../engine/source/source.js'
import { usualLimits } from '../../engine/walk/pagesize.js'
import { burstOf, firstBurst, largestBurst, smallestBurst } from '../../engine/walk/prefetch.js'

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

/** The rate limit, as far as the API's headers show it. */
export interface Rate {
  readonly limit: number
  readonly remaining: number
  readonly window_seconds: number
  /** true: two resets have shown the length of a window. false: it is assumed from the end of the current window. */
  readonly window_known: boolean
  /** Whether a run has seen windows under this limit; absent: not asked. */
  readonly window_seen?: boolean
  /** What the limit counts by: all programs with our partner id, or all at our address; null if the source doesn't tell. */
  readonly counted_by: 'partner' | 'address' | null
  readonly reserve: number
}

const usual = [1, 10, 60, 300, 600, 900, 1800, 3600, 86_400]

/** How much longer a window may seem than it is: the source's clock is only known to the second, and drifts. */
const seemsLonger = 1.1

/** Windows start and end with the clock: the shortest usual length that fits the end of this one. */
function windowSeconds(resetsAt: number, now: number): number {
  const left = Math.max(1, Math.ceil((resetsAt - now) / 1000))
  const end = Math.round(resetsAt / 1000)
  const fitting = usual.filter((length) => length * seemsLonger >= left)
  return fitting.find((length) => end % length === 0) ?? fitting[0] ?? left
}

export function rateOf(stats: SourceStats, reserve: number, now: number): Rate | null {
  const { window } = stats
  if (!window) return null
  const { key = '', limit, remaining, resetsAt, length } = window
  const seconds = length === undefined ? windowSeconds(resetsAt, now) : Math.round(length / 1000)
  return {
    ...{ limit, remaining, window_seconds: seconds, window_known: length !== undefined },
    counted_by: key === '' ? null : isIP(key) === 0 ? 'partner' : 'address',
    reserve,
  }
}

/**
 * How many minutes the requests take: as fast as the rate limit allows or as the source has responded so far, whichever
 * is slower.
 */
export function minutesFor(requests: number, rate: Rate | null, secondsEach: number): number {
  const answering = requests * secondsEach
  if (!rate) return answering / 60
  const kept = Math.ceil(rate.limit * rate.reserve)
  const now = Math.max(0, rate.remaining - kept)
  const windows = requests <= now ? 0 : Math.ceil((requests - now) / Math.max(1, rate.limit - kept))
  return Math.max(answering, windows * rate.window_seconds) / 60
}
