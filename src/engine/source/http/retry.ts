import type { Int64 } from '../../../../schema/resource.js'
import type { Clock } from '../../base/clock.js'
import { describeError, Retry, Skip } from '../../base/errors.js'
import { plural } from '../../base/format.js'
import type { Config } from '../../config/config.js'
import { told, tooLong, type WaitNotice } from '../rate/wait.js'

export interface RetryInfo {
  /** The attempt that failed; the first is 1. */
  readonly attempt: number
  readonly attempts: number
  readonly waitMs: number
  readonly message: string
  /** For a request about one tenant. */
  readonly tenant_id?: Int64 | undefined
  readonly resource?: string
}

export interface RetryLoop {
  readonly options: Config['api']['retry']
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal | undefined
  readonly onRetry: (info: RetryInfo) => void
  /** The longest wait that we accept, in ms. */
  readonly maxWait: number
  /** Who waits, for people. */
  readonly who: string
  /** Called for a wait of more than a minute. */
  readonly onWait: ((wait: WaitNotice) => void) | undefined
}

/**
 * Sends until an attempt succeeds or throws anything other than Retry. After the last attempt, the cursor is skipped.
 */
export async function withRetry<T>(loop: RetryLoop, send: (attempt: number) => Promise<T>): Promise<T> {
  const { attempts } = loop.options
  for (let attempt = 1; ; attempt++) {
    loop.signal?.throwIfAborted()
    try {
      return await send(attempt)
    } catch (error) {
      loop.signal?.throwIfAborted()
      if (!(error instanceof Retry)) throw error
      const waitMs = error.after ?? backoff(loop.options, attempt, loop.random)
      if (attempt >= attempts) throw givenUp(error, `after ${plural(attempt, 'attempt')}`)
      const now = Number(loop.clock.nowMicros()) / 1000
      if (waitMs > loop.maxWait)
        throw tooLong(
          `Gave up because the API asks to wait (${error.message})`,
          { until: now + waitMs, now, maxWait: loop.maxWait },
          error.details,
        )
      if (waitMs > told)
        loop.onWait?.({ who: loop.who, milliseconds: waitMs, why: `the API asks for it: ${error.message}` })
      loop.onRetry({ attempt, attempts, waitMs, message: describeError(error) })
      if (waitMs > 0) await loop.clock.sleep(waitMs, loop.signal)
    }
  }
}

/** Exponential with full jitter, so that clients that failed together don't come back together. */
export function backoff(options: Config['api']['retry'], attempt: number, random: () => number): number {
  return Math.round(random() * Math.min(options.maxMs, options.baseMs * 2 ** (attempt - 1)))
}

function givenUp(last: Retry, when: string): Skip {
  return new Skip(`Gave up ${when}: ${last.message}`, { ...last.details, reason: 'failed' })
}
