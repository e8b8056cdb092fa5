/** Waits that the API demands: who waits, for how long, and what people are told. */
import { afterEach, describe, expect, it } from 'vitest'
import type { WaitNotice } from '../../../src/engine/source/rate/wait.js'
import {
  client,
  closeAll,
  envelope,
  httpServer,
  refusal,
  request,
  sendJson,
} from '../../support/harness/server.js'
import { settled, VirtualClock } from '../../support/world/clocks.js'
import { closeThrottles, ok, start, work } from '../../support/world/throttle.js'

afterEach(() => {
  closeThrottles()
  return closeAll()
})

const hour = 3_600_000
const second = (from: number): string => String(Math.floor((Date.now() + from) / 1000))
const rate = (remaining: number, resetIn = 60_000): Record<string, string> => ({
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': second(resetIn),
})

/** A server that refuses tenant 7 once, with these headers, and answers everybody else. */
const refusing = (headers: Record<string, string>) => {
  let refused = false
  return httpServer(({ url = '' }, response) => {
    if (url.includes('/tenants/7/') && !refused) {
      refused = true
      return void response.writeHead(429, headers).end()
    }
    sendJson(response, envelope([{ id: 1 }]), rate(90))
  })
}

describe('a Retry-After of half an hour', () => {
  it('next to free requests only makes that request wait, and is reported', async () => {
    const { url } = await refusing({ ...rate(90), 'retry-after': '1800' })
    const waits: WaitNotice[] = []
    const { source, clock } = client(url, { onWait: (wait) => waits.push(wait) })
    await source.list(request())
    expect(clock.slept.filter((ms) => ms > 60_000)).toEqual([1_800_000])
    expect(waits).toMatchObject([{ who: 'tenant 7, customers', milliseconds: 1_800_000 }])
    expect(waits[0]?.why).toMatch(/answered 429/)
  })

  it('without any limit headers holds everybody', async () => {
    const { url, seen } = await refusing({ 'retry-after': '1800' })
    const waits: WaitNotice[] = []
    const { source } = client(url, { onWait: (wait) => waits.push(wait) })
    await Promise.all([source.list(request()), source.list(request({ tenantId: 8 }))])
    expect(waits).toMatchObject([{ who: 'every request' }])
    expect(seen).toHaveLength(3)
  })
})

describe('a Retry-After beyond api.maxWait', () => {
  it('is accepted if the configuration allows it', async () => {
    const { url } = await refusing({ ...rate(90), 'retry-after': '7200' })
    const { source, clock } = client(url, { maxWait: 3 * hour })
    await source.list(request())
    expect(clock.slept).toContain(7_200_000)
  })

  it('ends only that request if the window has room or is not reported', async () => {
    for (const headers of [rate(90), {}]) {
      const { url, seen } = await refusing({ ...headers, 'retry-after': '315360000' })
      const { source, clock } = client(url)
      const error = await refusal(source.list(request()))
      expect(error).toMatchObject({
        reason: 'failed',
        details: { code: 'told_to_wait', tenantId: 7, status: 429 },
      })
      expect((await source.list(request({ tenantId: 8 }))).records).toHaveLength(1)
      expect(clock.slept).toEqual([])
      expect(seen).toHaveLength(2)
    }
  })

  it('ends everybody without another request if nothing remains until then', async () => {
    const { url, seen } = await refusing({ ...rate(0, 10 * hour), 'retry-after': '36000' })
    const { source } = client(url)
    for (const tenantId of [7, 8, 9])
      expect(await refusal(source.list(request({ tenantId })))).toMatchObject({
        details: { code: 'told_to_wait' },
      })
    expect(seen).toHaveLength(1)
  })
})

describe('a window that others used up before the first request', () => {
  /** A server whose window is used up for the first few requests, as long as its headers say. */
  const spentAtFirst = (refusals: number) => {
    let asked = 0
    return httpServer((_request, response) => {
      asked++
      if (asked <= refusals) return void response.writeHead(429, rate(0, 30_000)).end()
      sendJson(response, envelope([{ id: 1 }]), rate(90))
    })
  }

  it('is waited for by all requests, after one request, and is reported', async () => {
    const { url, seen } = await spentAtFirst(1)
    const waits: WaitNotice[] = []
    const { source, clock } = client(url, { onWait: (wait) => waits.push(wait) })
    await Promise.all([7, 8, 9].map((tenantId) => source.list(request({ tenantId }))))
    expect(seen).toHaveLength(4)
    const [waited = 0, ...more] = clock.slept
    expect(more).toEqual([])
    expect(waited).toBeGreaterThan(28_000)
    expect(waited).toBeLessThan(33_000)
    expect(waits).toMatchObject([{ who: 'every request', why: expect.stringContaining('100 requests') }])
  })

  it('ends with a message about the rate limit if it never ends', async () => {
    const { url, seen } = await spentAtFirst(99)
    const { source } = client(url)
    const error = await refusal(source.list(request()))
    expect(error).toMatchObject({ reason: 'failed', details: { status: 429 } })
    expect(error).toMatchObject({ hint: expect.stringContaining('rate limit is used up') })
    expect(seen).toHaveLength(3)
  })
})

it('a window that is used up for longer than api.maxWait refuses waiting and new requests', async () => {
  const clock = new VirtualClock(1_700_000_000_000)
  const waits: WaitNotice[] = []
  const throttle = start(clock, 4, 0, (wait) => waits.push(wait))
  const permit = await throttle.acquire(work())
  const waiting = refusal(throttle.acquire(work(2)))
  permit.release(ok(clock, { remaining: 0, reset: clock.now + 24 * hour }))
  for (const refused of [waiting, refusal(throttle.acquire(work(3)))])
    expect(await refused).toMatchObject({ name: 'Skip', details: { code: 'told_to_wait' } })
  expect(waits).toEqual([])
  // The day after, it is a different window.
  await clock.pass(24 * hour + 2000)
  const next = throttle.acquire(work())
  await settled()
  ;(await next).release(ok(clock))
})

it('a wait of the whole program is reported once, however often it is checked', async () => {
  const clock = new VirtualClock(1_700_000_000_000)
  const waits: WaitNotice[] = []
  const throttle = start(clock, 4, 0, (wait) => waits.push(wait))
  const permit = await throttle.acquire(work())
  permit.release(ok(clock, { remaining: 0, reset: clock.now + 600_000 }))
  const waiting = [1, 2, 3].map((tenant) => throttle.acquire(work(tenant)))
  await clock.pass(601_000)
  ;(await Promise.race(waiting)).release(ok(clock))
  expect(waits).toMatchObject([
    { who: 'every request', why: expect.stringContaining('100 requests is used up') },
  ])
  for (const one of waiting) one.then((given) => given.release(ok(clock))).catch(() => {})
  await settled()
})
