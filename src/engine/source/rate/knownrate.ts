import { isIP } from 'node:net'
import type { SourceStats } from '../source.js'

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
    limit,
    remaining,
    window_seconds: seconds,
    window_known: length !== undefined,
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
