import { afterEach, describe, expect, it } from 'vitest'
import type { RequestClaim } from '../../../src/engine/source/rate/throttle.js'
import { settled, VirtualClock } from '../../support/world/clocks.js'
import { ask, closeThrottles, learn, many, ok, start, work } from '../../support/world/throttle.js'

afterEach(closeThrottles)

describe('the queue', () => {
  it('serves lookups before incremental, then reconcile, then backfill', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock, 1)
    const first = await throttle.acquire(work())
    const granted = ask(throttle, [
      ['d', work(1, 'backfill')],
      ['c', work(1, 'reconcile')],
      ['b', work(1, 'incremental')],
      ['a', work(2, 'lookup')],
    ])
    first.release(ok(clock))
    for (let index = 0; index < 4; index++) {
      await settled()
      granted[index]![1].release(ok(clock))
    }
    expect(granted.map(([name]) => name).join('')).toBe('abcd')
  })

  it('lets tenants take turns, so a large one does not hold up others', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock, 1)
    const first = await throttle.acquire(work())
    const granted = ask(throttle, [
      ...Array.from({ length: 6 }, (): [string, RequestClaim] => ['A', work(1)]),
      ['B', work(2)],
      ['B', work(2)],
      ['C', work(3)],
    ])
    first.release(ok(clock))
    for (let index = 0; index < 9; index++) {
      await settled()
      granted[index]![1].release(ok(clock))
    }
    expect(granted.map(([name]) => name).join('')).toBe('ABCABAAAA')
  })

  it('lets an aborted request go immediately, with its reason, and serves the next', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock, 1)
    const first = await throttle.acquire(work())
    const controller = new AbortController()
    const aborted = throttle.acquire({ ...work(), signal: controller.signal })
    const granted = ask(throttle, many(1))
    controller.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    first.release(ok(clock))
    await settled()
    expect(granted).toHaveLength(1)
    await expect(throttle.acquire({ ...work(), signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow(
      'no',
    )
  })

  it('leaves no timer behind when nobody waits any more', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    await learn(throttle, clock, { limit: 5, remaining: 0, reset: 1_700_000_060_000 })
    const controller = new AbortController()
    const aborted = throttle.acquire({ ...work(), signal: controller.signal })
    expect(clock.sleeping).toBe(1)
    controller.abort()
    await expect(aborted).rejects.toThrow()
    expect(clock.sleeping).toBe(0)
    const waiting = throttle.acquire(work())
    throttle.close()
    await expect(waiting).rejects.toThrow(/closed/)
    expect(clock.sleeping).toBe(0)
  })

  it('counts a permit that is released twice only once', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock, 1)
    const permit = await throttle.acquire(work())
    const granted = ask(throttle, many(5))
    permit.release(ok(clock))
    permit.release(ok(clock))
    permit.cancel()
    await settled()
    expect(granted).toHaveLength(1)
  })
})
