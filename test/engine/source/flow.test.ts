/** The throttle holds back pages while the warehouse has enough to store, and never forgets one. */
import { afterEach, expect, it } from 'vitest'
import { Flow } from '../../../src/engine/source/rate/flow.js'
import type { RequestClaim } from '../../../src/engine/source/rate/throttle.js'
import { Backlog } from '../../../src/engine/warehouse/backlog.js'
import { VirtualClock } from '../../support/world/clocks.js'
import { ask, closeThrottles, learn, ok, start, work } from '../../support/world/throttle.js'

afterEach(closeThrottles)

/** A warehouse that stores a page on request. */
function storing(backlog: Backlog): () => Promise<void> {
  let end = (): void => {}
  const promise = new Promise<void>((resolve) => {
    end = resolve
  })
  const stored = backlog.storing(() => promise)
  return () => {
    end()
    return stored
  }
}

const pages = (count: number, claim: RequestClaim): Array<[string, RequestClaim]> =>
  Array.from({ length: count }, (_, i) => [String(i), claim])

const names = (granted: ReadonlyArray<readonly [string, unknown]>): string[] => granted.map(([name]) => name)

async function given(enough: number) {
  const clock = new VirtualClock()
  const backlog = new Backlog(enough)
  const throttle = start(clock)
  await learn(throttle, clock, { limit: 100, remaining: 90, reset: clock.now + 60_000 })
  const page = { ...work(), flow: new Flow({ clock }, backlog) }
  return { clock, backlog, throttle, page }
}

it('holds back pages while enough are being stored, and lets other requests go', async () => {
  const { backlog, throttle, page } = await given(1)
  const stored = storing(backlog)
  const held = ask(throttle, pages(1, page))
  const others = ask(throttle, pages(1, work()))
  await new Promise(setImmediate)
  expect([names(held), names(others)]).toEqual([[], ['0']])
  await stored()
  await new Promise(setImmediate)
  expect(names(held)).toEqual(['0'])
})

it('lets the next one go when a page has arrived, failed, or was given up, and never all at the same time', async () => {
  const { clock, backlog, throttle, page } = await given(1)
  const stored = storing(backlog)
  const held = ask(throttle, pages(4, page))
  await stored()
  await new Promise(setImmediate)
  expect(names(held)).toEqual(['0'])
  held[0]?.[1].release(ok(clock))
  await new Promise(setImmediate)
  expect(names(held)).toEqual(['0', '1'])
  held[1]?.[1].release()
  await new Promise(setImmediate)
  held[2]?.[1].cancel()
  await new Promise(setImmediate)
  expect(names(held)).toEqual(['0', '1', '2', '3'])
})

it('lets one go with each page that is stored, while those already let go are under way', async () => {
  const { backlog, throttle, page } = await given(2)
  const stored = [storing(backlog), storing(backlog)]
  const held = ask(throttle, pages(3, page))
  for (const [i, end] of stored.entries()) {
    await end()
    await new Promise(setImmediate)
    expect(held).toHaveLength(i + 1)
  }
})

it('keeps holding when the warehouse is full again, and forgets a page that is no longer wanted', async () => {
  const { backlog, throttle, page } = await given(1)
  const first = storing(backlog)
  const controller = new AbortController()
  const aborted = throttle.acquire({ ...page, signal: controller.signal })
  const held = ask(throttle, pages(1, page))
  const second = storing(backlog)
  await first()
  await new Promise(setImmediate)
  expect(names(held)).toEqual([])
  controller.abort(new Error('enough'))
  await expect(aborted).rejects.toThrow('enough')
  await second()
  await new Promise(setImmediate)
  expect(names(held)).toEqual(['0'])
  const waiting = throttle.acquire(page)
  const refused = storing(backlog)
  const closing = throttle.acquire(page)
  throttle.close()
  await expect(closing).rejects.toThrow('closed')
  await refused()
  await waiting.catch(() => {})
})

it('lets several pages go together if responses take several times as long as storing, and none waits for the window', async () => {
  const clock = new VirtualClock()
  const flow = new Flow({ clock, readAhead: 8 })
  await flow.storing(Promise.resolve())
  expect(flow.together).toBe(1)
  flow.ready({ since: 0, sentAt: 0, now: 200 })
  expect(flow.together).toBe(8)
  for (let i = 0; i < 20; i++) flow.ready({ since: 0, sentAt: 2000, now: 2200 })
  expect(flow.together).toBe(1)
  expect(new Flow({ clock, readAhead: 0 }).together).toBe(0)
})
