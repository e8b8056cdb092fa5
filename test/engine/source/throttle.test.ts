import { afterEach, describe, expect, it } from 'vitest'
import { settled, VirtualClock } from '../../support/world/clocks.js'
import { ask, closeThrottles, learn, many, ok, start, work } from '../../support/world/throttle.js'

afterEach(closeThrottles)

describe('the start', () => {
  it('lets a single request go while nothing is known', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock)
    const granted = ask(throttle, many(5))
    await settled()
    expect(granted).toHaveLength(1)
    granted[0]![1].release(ok(clock, { remaining: 99 }))
    await settled()
    expect(granted.length).toBeGreaterThan(1)
  })

  it('continues when the first request breaks off', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock)
    const granted = ask(throttle, many(3))
    await settled()
    granted[0]![1].release()
    await settled()
    expect(granted).toHaveLength(2)
  })

  it('is only limited by the connections if no response reports a limit', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock, 4)
    const granted = ask(throttle, many(100))
    for (let index = 0; index < 90; index++) {
      await settled()
      expect(granted.length - index).toBeLessThanOrEqual(4)
      granted[index]![1].release(ok(clock))
    }
    expect(throttle.window()).toBeUndefined()
  })
})

describe('a window', () => {
  it('is used to its last request, including those under way, but no further', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    await learn(throttle, clock, { limit: 10, remaining: 3, reset: 1_700_000_010_000 })
    const granted = ask(throttle, many(8))
    await settled()
    for (let index = 0; index < 3; index++) {
      expect(granted.length).toBeGreaterThan(index)
      granted[index]![1].release(ok(clock, { limit: 10, remaining: 2 - index, reset: 1_700_000_010_000 }))
      await settled()
    }
    expect(granted).toHaveLength(3)
    await clock.pass(9_900)
    expect(granted).toHaveLength(3)
    await clock.pass(1_500)
    expect(granted.length).toBeGreaterThan(3)
  })

  it('reports how long requests waited for its end, not how long there were none', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    await learn(throttle, clock, { limit: 10, remaining: 0, reset: 1_700_000_010_000 })
    await clock.pass(2000)
    const granted = ask(throttle, many(2))
    await clock.pass(3000)
    const known = throttle.waited()
    expect([known, granted.length]).toEqual([3000, 0])
    await clock.pass(30_000)
    expect(granted.length).toBeGreaterThan(0)
    const [over] = [throttle.waited()]
    expect(over).toBeGreaterThanOrEqual(8000)
    await clock.pass(60_000)
    expect(throttle.waited()).toBe(over)
  })

  it('that is hours away by our clock ends when the server’s clock says so', async () => {
    for (const skew of [-7, 5]) {
      const clock = new VirtualClock(1_700_000_000_000)
      const server = (): number => clock.now + skew * 3_600_000
      const throttle = start(clock)
      const reset = server() + 30_000
      const permit = await throttle.acquire(work())
      permit.release(
        ok(clock, { limit: 5, remaining: 0, reset }, { date: Math.floor(server() / 1000) * 1000 }),
      )
      const granted = ask(throttle, many(1))
      await clock.pass(29_900)
      expect(granted).toHaveLength(0)
      await clock.pass(1_200)
      expect(granted).toHaveLength(1)
    }
  })

  it('is not confused by late responses from the previous one', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    const [old, next] = [1_700_000_010_000, 1_700_000_020_000]
    await learn(throttle, clock, { limit: 10, remaining: 9, reset: old })
    const early = ask(throttle, many(2))
    await settled()
    expect(early).toHaveLength(2)
    await clock.pass(12_000)
    early[0]![1].release(ok(clock, { limit: 10, remaining: 8, reset: next }))
    early[1]![1].release(ok(clock, { limit: 10, remaining: 0, reset: old }))
    expect(throttle.window()).toMatchObject({ limit: 10, remaining: 8, resetsAt: next + 5 })
    const granted = ask(throttle, many(12))
    for (let index = 0; index < 8; index++) {
      await settled()
      granted[index]![1].release(ok(clock, { limit: 10, remaining: 7 - index, reset: next }))
    }
    await settled()
    expect(granted).toHaveLength(8)
  })

  it('only shrinks with responses that come out of order', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    const reset = 1_700_000_060_000
    await learn(throttle, clock, { limit: 10, remaining: 5, reset })
    const granted = ask(throttle, many(2))
    await settled()
    granted[1]![1].release(ok(clock, { limit: 10, remaining: 3, reset }))
    granted[0]![1].release(ok(clock, { limit: 10, remaining: 4, reset }))
    expect(throttle.window()?.remaining).toBe(3)
  })

  it('leaves the reserve to others', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock, 16, 0.3)
    const reset = 1_700_000_060_000
    await learn(throttle, clock, { limit: 10, remaining: 9, reset })
    const granted = ask(throttle, many(20))
    for (let index = 0; index < 6; index++) {
      await settled()
      granted[index]![1].release(ok(clock, { limit: 10, remaining: 8 - index, reset }))
    }
    await settled()
    expect(granted).toHaveLength(6)
    expect(throttle.window()?.remaining).toBe(3)
  })

  it('with a reserve of nearly everything still lets one request go', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock, 16, 0.9)
    await learn(throttle, clock, { limit: 1, remaining: 0, reset: 1_700_000_001_000 })
    const granted = ask(throttle, many(2))
    await clock.pass(2_500)
    expect(granted).toHaveLength(1)
  })

  it('that outlasts its reset is waited for, once that is known', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock, 1)
    const reset = 1_700_000_010_000
    await learn(throttle, clock, { limit: 5, remaining: 0, reset })
    const granted = ask(throttle, many(9))
    await clock.pass(10_100)
    expect(granted).toHaveLength(1)
    granted[0]![1].release(ok(clock, { limit: 5, remaining: 0, reset }, { status: 429 }))
    await clock.pass(800)
    expect(granted).toHaveLength(1)
    await clock.pass(300)
    expect(granted).toHaveLength(2)
  })

  it('with an unknown end is probed again after a while', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock)
    const permit = await throttle.acquire(work())
    permit.release(ok(clock, undefined, { rate: { key: '', limit: 5, remaining: 0, reset: undefined } }))
    const granted = ask(throttle, many(2))
    await clock.pass(900)
    expect(granted).toHaveLength(0)
    await clock.pass(200)
    expect(granted).toHaveLength(1)
  })

  it('whose requests all break off is probed again, not waited for forever', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    await learn(throttle, clock, { limit: 2, remaining: 0, reset: 1_700_000_001_000 })
    const granted = ask(throttle, many(6))
    for (let index = 0; index < 6; index++) {
      await clock.pass(3_000)
      expect(granted.length).toBeGreaterThan(index)
      granted[index]![1].release()
    }
  })
})
