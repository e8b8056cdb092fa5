/** Whose request goes when, by what the responses said. That windows are used up, and no more: simulation.test.ts. */
import { describe, expect, it } from 'vitest'
import type { RequestClaim } from '../../../src/engine/source/rate/throttle.js'
import { settled } from '../../support/world/clocks.js'
import { Stand, work } from '../../support/world/throttle.js'

describe('the start', () => {
  it('lets a single request go while nothing is known, and another when it breaks off', async () => {
    const stand = new Stand()
    await stand.ask(5)
    expect(stand.granted).toHaveLength(1)
    stand.next().release()
    await settled()
    expect(stand.granted).toHaveLength(2)
    await stand.answer({ remaining: 99 })
    expect(stand.granted.length).toBeGreaterThan(2)
  })

  it('is only limited by the connections if no response reports a limit', async () => {
    const stand = new Stand({ connections: 4 })
    await stand.ask(100)
    for (let index = 0; index < 90; index++) {
      expect(stand.granted.length - index).toBeLessThanOrEqual(4)
      await stand.answer()
    }
    expect(stand.throttle.window()).toBeUndefined()
  })
})

describe('a window', () => {
  it('reports how long requests waited for its end, not how long there were none', async () => {
    const stand = new Stand()
    const { throttle, clock } = stand
    await stand.learn({ limit: 10, remaining: 0, endsIn: 10_000 })
    await clock.pass(2000)
    await stand.ask(2)
    await clock.pass(3000)
    expect([throttle.waited(), stand.granted.length]).toEqual([3000, 0])
    expect(await stand.after(30_000)).toBeGreaterThan(0)
    const over = throttle.waited()
    expect(over).toBeGreaterThanOrEqual(8000)
    await clock.pass(60_000)
    expect(throttle.waited()).toBe(over)
  })

  it('is not confused by late responses from the previous one', async () => {
    const stand = new Stand()
    await stand.learn({ limit: 10, remaining: 9, endsIn: 10_000 })
    await stand.ask(2)
    await stand.clock.pass(12_000)
    await stand.answer({ limit: 10, remaining: 8, endsIn: 20_000 })
    await stand.answer({ limit: 10, remaining: 0, endsIn: 10_000 })
    const known = { limit: 10, remaining: 8, resetsAt: stand.begun + 20_005 }
    expect(stand.throttle.window()).toMatchObject(known)
    await stand.ask(12)
    for (let left = 7; left >= 0; left--) await stand.answer({ limit: 10, remaining: left, endsIn: 20_000 })
    expect(stand.granted).toHaveLength(10)
  })

  it('only shrinks with responses that come out of order', async () => {
    const stand = new Stand()
    await stand.learn({ limit: 10, remaining: 5 })
    await stand.ask(2)
    await stand.answer({ limit: 10, remaining: 3 })
    await stand.answer({ limit: 10, remaining: 4 })
    expect(stand.throttle.window()?.remaining).toBe(3)
  })

  it('with a reserve of nearly everything still lets one request go', async () => {
    const stand = new Stand({ reserve: 0.9 })
    await stand.learn({ limit: 1, remaining: 0, endsIn: 1000 })
    await stand.ask(2)
    expect(await stand.after(2500)).toBe(1)
  })

  it('that outlasts its reset is waited for, once that is known', async () => {
    const stand = new Stand({ connections: 1 })
    const spent = { limit: 5, remaining: 0, endsIn: 10_000 }
    await stand.learn(spent)
    await stand.ask(9)
    expect(await stand.after(10_100)).toBe(1)
    await stand.answer(spent, { status: 429 })
    expect(await stand.after(800)).toBe(1)
    expect(await stand.after(300)).toBe(2)
  })

  it('with an unknown end is probed again after a while', async () => {
    const stand = new Stand()
    await stand.learn(undefined, { rate: { key: '', limit: 5, remaining: 0, reset: undefined } })
    await stand.ask(2)
    expect(await stand.after(900)).toBe(0)
    expect(await stand.after(200)).toBe(1)
  })

  it('whose requests all break off is probed again, not waited for forever', async () => {
    const stand = new Stand()
    await stand.learn({ limit: 2, remaining: 0, endsIn: 1000 })
    await stand.ask(6)
    for (let index = 0; index < 6; index++) {
      await stand.clock.pass(3000)
      stand.next().release()
    }
  })
})

describe('two rules', () => {
  it('are both kept, whichever the headers happen to name', async () => {
    const stand = new Stand()
    await stand.learn({ key: 'partner', limit: 1000, remaining: 900 })
    await stand.learn({ key: '10.0.0.1', limit: 5, remaining: 4 })
    await stand.ask(10)
    for (let index = 0; index < 4; index++)
      await stand.answer({ key: 'partner', limit: 1000, remaining: 899 - index })
    expect(stand.granted).toHaveLength(4)
    expect(stand.throttle.window()).toMatchObject({ limit: 5, remaining: 0 })
  })

  it('may become one: a rule that is no longer named is forgotten after its window', async () => {
    const stand = new Stand()
    await stand.learn({ key: '10.0.0.1', limit: 5, remaining: 0, endsIn: 2000 })
    for (let index = 0; index < 12; index++) {
      await stand.ask(1)
      await stand.clock.pass(4000)
      await stand.answer({ key: 'partner', limit: 1000, remaining: 900 - index, endsIn: 600_000 })
    }
    expect(stand.throttle.window()).toMatchObject({ limit: 1000 })
  })
})

describe('a 429', () => {
  it.each([
    ['with a reset', { remaining: 0, endsIn: 40_000 }, undefined, 39_000],
    ['with Retry-After', undefined, 9000, 8990],
  ])('%s holds everybody until then', async (_, rate, retryAfter, held) => {
    const stand = new Stand()
    await stand.ask(20)
    await stand.answer(rate, { status: 429, retryAfter })
    expect(await stand.after(held)).toBe(1)
    expect(await stand.after(2100)).toBeGreaterThan(1)
  })

  it('without any hint backs off, longer each time, with one request ahead of all others', async () => {
    const stand = new Stand()
    await stand.ask(30)
    const waits: number[] = []
    for (let index = 1; index <= 8; index++) {
      expect(stand.granted).toHaveLength(index)
      await stand.answer(undefined, { status: 429 })
      const began = stand.clock.now
      while (stand.granted.length === index) await stand.clock.pass(250)
      waits.push(stand.clock.now - began)
    }
    expect(waits).toEqual([750, 1500, 3000, 6000, 12_000, 24_000, 45_000, 45_000])
  })

  it('storm counts once', async () => {
    const stand = new Stand()
    await stand.ask(60)
    for (let index = 0; index < 30; index++) await stand.answer()
    const storm = stand.granted.length - 30
    expect(storm).toBeGreaterThan(4)
    for (let index = 0; index < storm; index++) stand.next().release(stand.said(undefined, { status: 429 }))
    expect(await stand.after(1000)).toBe(30 + storm + 1)
  })
})

describe('the queue', () => {
  it.each<[what: string, claims: ReadonlyArray<readonly [string, RequestClaim]>, order: string]>([
    [
      'lookups before incremental, then reconcile, then backfill',
      [
        ['d', work(1, 'backfill')],
        ['c', work(1, 'reconcile')],
        ['b', work(1, 'incremental')],
        ['a', work(2, 'lookup')],
      ],
      'abcd',
    ],
    [
      'tenants in turn, so a large one does not hold up others',
      [1, 1, 1, 1, 1, 1, 2, 2, 3].map((tenant) => [' ABC'[tenant]!, work(tenant)] as const),
      'ABCABAAAA',
    ],
  ])('serves %s', async (_, claims, order) => {
    const stand = new Stand({ connections: 1 })
    const first = await stand.throttle.acquire(work())
    await stand.ask(claims)
    first.release(stand.said())
    await settled()
    for (let index = 0; index < claims.length; index++) await stand.answer()
    expect(stand.names).toBe(order)
  })

  it('lets an aborted request go immediately, with its reason, and serves the next', async () => {
    const stand = new Stand({ connections: 1 })
    const { throttle } = stand
    const first = await throttle.acquire(work())
    const controller = new AbortController()
    const aborted = throttle.acquire({ ...work(), signal: controller.signal })
    await stand.ask(1)
    controller.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    first.release(stand.said())
    await settled()
    expect(stand.granted).toHaveLength(1)
    const signal = AbortSignal.abort(new Error('no'))
    await expect(throttle.acquire({ ...work(), signal })).rejects.toThrow('no')
  })

  it('leaves no timer behind when nobody waits any more', async () => {
    const stand = new Stand()
    const { throttle, clock } = stand
    await stand.learn({ limit: 5, remaining: 0 })
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
    const stand = new Stand({ connections: 1 })
    const permit = await stand.throttle.acquire(work())
    await stand.ask(5)
    for (let i = 0; i < 2; i++) permit.release(stand.said())
    permit.cancel()
    await settled()
    expect(stand.granted).toHaveLength(1)
  })
})
