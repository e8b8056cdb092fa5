/**
 * Waits that the API demands: who a refusal concerns, how long is worth waiting, and what people are told. Used by the
 * throttle, which waits for everybody, and by the retry loop, which waits for one request.
 */
import { type ErrorDetails, Skip } from '../../base/errors.js'
import { atMinute, span } from '../../base/format.js'
import { fromMicros } from '../../base/timestamp.js'
import type { RateReport } from '../http/headers.js'

/** In milliseconds. A longer wait than this is reported to people. */
export const told = 60_000

/** In milliseconds: the longest wait that we accept, unless the configuration has another. */
export const usualMaxWait = 3_600_000

/** A current wait, for people. */
export interface WaitNotice {
  /** Who waits, such as `tenant 7, customers`. */
  readonly who: string
  readonly milliseconds: number
  readonly why: string
}

/**
 * Who the Retry-After of a 429 concerns: everybody, or only the request that got it. The headers decide: a server that
 * says "come back in ten years" and reports 90 free requests at the same time is wrong about one of them.
 */
export function concerns(
  {
    retryAfter,
    rate,
    date,
    receivedAt,
  }: {
    /** All times are in ms. */
    readonly receivedAt: number
    readonly rate: RateReport | undefined
    /** The server's clock. */
    readonly date: number | undefined
    readonly retryAfter: number | undefined
  },
  maxWait: number,
): 'everybody' | 'one' {
  if (retryAfter === undefined || retryAfter <= told) return 'everybody'
  if (retryAfter <= maxWait) return rate && rate.remaining > 0 ? 'one' : 'everybody'
  const isSpent = rate?.remaining === 0 && rate.reset !== undefined
  return isSpent && (rate.reset ?? 0) - (date ?? receivedAt) > maxWait ? 'everybody' : 'one'
}

/** Ends a cursor instead of a wait that is too long. `until` in ms since the epoch. */
export function tooLong(
  why: string,
  { until, now, maxWait }: { readonly until: number; readonly now: number; readonly maxWait: number },
  details: Omit<ErrorDetails, 'code' | 'hint'> = {},
): Skip {
  const when =
    until < 253_402_300_800_000
      ? ` (until ${atMinute(fromMicros(BigInt(Math.round(until)) * 1000n))} UTC)`
      : ''
  return new Skip(
    `${why}: it would have to wait ${span(until - now)}${when}, expected at most ${span(maxWait)}`,
    {
      ...details,
      reason: 'failed',
      code: 'told_to_wait',
      hint: 'The next run looks again, with one request. To allow longer waits, raise api.maxWait',
    },
  )
}
