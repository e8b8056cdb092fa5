/* Waiting for the warehouse while another run holds it. Used by steps.ts. */
import { Stop } from '../base/errors.js'
import type { Dependencies } from './runcontext.js'

/** Milliseconds between two looks at the lease: one statement each. */
const betweenLooks = 5000

type Waiting = Pick<Dependencies, 'clock' | 'signal' | 'observer'>

/**
 * Tries until nobody else holds the warehouse, or so many milliseconds are over. `attempt` calls `begun` when it holds
 * the warehouse: what has begun is not begun again, also when it loses the warehouse to another run.
 */
export async function whenFree<T>(
  { clock, signal, observer }: Waiting,
  wait: number,
  attempt: (begun: () => void) => Promise<T>,
): Promise<T> {
  const until = clock.nowMicros() + BigInt(Math.round(wait)) * 1000n
  for (let isFirst = true; ; isFirst = false) {
    let isBegun = false
    try {
      return await attempt(() => {
        isBegun = true
      })
    } catch (error) {
      const left = Number(until - clock.nowMicros()) / 1000
      if (isBegun || !(error instanceof Stop && error.exitCode === 4) || left <= 0) throw error
      if (isFirst) observer.waiting?.(error.message, left)
      await clock.sleep(Math.min(left, betweenLooks), signal)
      if (signal.aborted) throw error
    }
  }
}
