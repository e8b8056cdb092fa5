import type { RateReport } from '../../../src/engine/source/http/headers.js'
import type { RequestOutcome } from '../../../src/engine/source/rate/budget.js'
import { type Permit, type RequestClaim, Throttle } from '../../../src/engine/source/rate/throttle.js'
import type { WaitNotice } from '../../../src/engine/source/rate/wait.js'
import type { VirtualClock } from './clocks.js'

const throttles: Throttle[] = []
export function closeThrottles(): void {
  for (const throttle of throttles.splice(0)) throttle.close()
}

export function start(
  clock: VirtualClock,
  connections = 16,
  rateReserve = 0,
  onWait?: (wait: WaitNotice) => void,
): Throttle {
  const throttle = new Throttle({
    clock,
    connections,
    rateReserve,
    random: () => 0.5,
    ...(onWait && { onWait }),
  })
  throttles.push(throttle)
  return throttle
}

export const work = (tenantId = 1, priority: RequestClaim['priority'] = 'incremental'): RequestClaim => ({
  tenantId,
  priority,
})

/** Requests permits, and records those that the throttle grants, in the order of granting, with the claim's name. */
export function ask(
  throttle: Throttle,
  claims: ReadonlyArray<[name: string, claim: RequestClaim]>,
): Array<[string, Permit]> {
  const granted: Array<[string, Permit]> = []
  for (const [name, claim] of claims)
    throttle.acquire(claim).then(
      (permit) => granted.push([name, permit]),
      () => {},
    )
  return granted
}

export function ok(
  clock: VirtualClock,
  rate?: Partial<RateReport>,
  more: Partial<RequestOutcome> = {},
): RequestOutcome {
  return {
    status: 200,
    receivedAt: clock.now,
    date: Math.floor(clock.now / 1000) * 1000,
    retryAfter: undefined,
    rate: rate && { key: 'p', limit: 100, remaining: 99, reset: clock.now + 60_000, ...rate },
    ...more,
  }
}

export const many = (count: number, claim = work()): Array<[string, RequestClaim]> =>
  Array.from({ length: count }, (_, index) => [String(index), claim])

/** Sends one request through the throttle, so that it knows the window. */
export async function learn(
  throttle: Throttle,
  clock: VirtualClock,
  rate: Partial<RateReport>,
): Promise<void> {
  const permit = await throttle.acquire(work())
  permit.release(ok(clock, rate))
}
