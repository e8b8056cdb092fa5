import { afterEach, describe, expect, it } from 'vitest'
import { settled, VirtualClock } from '../../support/world/clocks.js'
import { ask, closeThrottles, learn, many, ok, start, work } from '../../support/world/throttle.js'

afterEach(closeThrottles)

describe('two rules', () => {
  it('are both kept, whichever the headers happen to name', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    const reset = 1_700_000_060_000
    await learn(throttle, clock, { key: 'partner', limit: 1000, remaining: 900, reset })
    await learn(throttle, clock, { key: '10.0.0.1', limit: 5, remaining: 4, reset })
    const granted = ask(throttle, many(10))
    for (let index = 0; index < 4; index++) {
      await settled()
      granted[index]![1].release(ok(clock, { key: 'partner', limit: 1000, remaining: 899 - index, reset }))
    }
    await settled()
    expect(granted).toHaveLength(4)
    expect(throttle.window()).toMatchObject({ limit: 5, remaining: 0 })
  })

  it('may become one: a rule that is no longer named is forgotten after its window', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    await learn(throttle, clock, { key: '10.0.0.1', limit: 5, remaining: 0, reset: 1_700_000_002_000 })
    for (let index = 0; index < 12; index++) {
      const [permit] = await Promise.all([throttle.acquire(work()), clock.pass(4_000)])
      permit.release(
        ok(clock, { key: 'partner', limit: 1000, remaining: 900 - index, reset: 1_700_000_600_000 }),
      )
    }
    expect(throttle.window()).toMatchObject({ limit: 1000 })
  })
})

describe('a 429', () => {
  it('with a reset holds everybody until then', async () => {
    const clock = new VirtualClock(1_700_000_000_000)
    const throttle = start(clock)
    const reset = 1_700_000_040_000
    await learn(throttle, clock, { limit: 100, remaining: 50, reset })
    const granted = ask(throttle, many(20))
    await settled()
    granted[0]![1].release(ok(clock, { limit: 100, remaining: 0, reset }, { status: 429 }))
    const before = granted.length
    await clock.pass(39_000)
    expect(granted).toHaveLength(before)
    await clock.pass(2_100)
    expect(granted.length).toBeGreaterThan(before)
  })

  it('with Retry-After holds everybody for that long', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock)
    const permit = await throttle.acquire(work())
    permit.release(ok(clock, undefined, { status: 429, retryAfter: 9000 }))
    const granted = ask(throttle, many(3))
    await clock.pass(8_990)
    expect(granted).toHaveLength(0)
    await clock.pass(20)
    expect(granted).toHaveLength(1)
  })

  it('without any hint backs off, longer each time, with one request ahead of all others', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock)
    const granted = ask(throttle, many(30))
    const waits: number[] = []
    for (let index = 0; index < 8; index++) {
      await settled()
      expect(granted).toHaveLength(index + 1)
      granted[index]![1].release(ok(clock, undefined, { status: 429 }))
      const began = clock.now
      while (granted.length === index + 1) await clock.pass(250)
      waits.push(clock.now - began)
    }
    expect(waits).toEqual([750, 1500, 3000, 6000, 12_000, 24_000, 45_000, 45_000])
  })

  it('storm counts once', async () => {
    const clock = new VirtualClock()
    const throttle = start(clock)
    const granted = ask(throttle, many(60))
    for (let index = 0; index < 30; index++) {
      await settled()
      granted[index]![1].release(ok(clock))
    }
    await settled()
    const storm = granted.slice(30)
    expect(storm.length).toBeGreaterThan(4)
    for (const [, permit] of storm) permit.release(ok(clock, undefined, { status: 429 }))
    await clock.pass(1000)
    expect(granted.length).toBe(30 + storm.length + 1)
  })
})
