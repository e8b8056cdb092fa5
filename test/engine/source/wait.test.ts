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
import { settled } from '../../support/world/clocks.js'
import { Stand, work } from '../../support/world/throttle.js'

afterEach(closeAll)

const hour = 3_600_000
const rate = (remaining: number, resetIn = 60_000): Record<string, string> => ({
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(Math.floor((Date.now() + resetIn) / 1000)),
})
/** A server that refuses the first requests with these headers, and answers the others; and its client. */
async function refusing(
  headers: Record<string, string>,
  { refusals = 1, maxWait = hour, status = 429 } = {},
) {
  const { url, seen } = await httpServer((_request, response, number) => {
    if (number <= refusals) response.writeHead(status, headers).end()
    else sendJson(response, envelope([{ id: 1 }]), rate(90))
  })
  const waits: WaitNotice[] = []
  const { source, clock } = client(url, { onWait: (wait) => waits.push(wait), maxWait })
  return { source, clock, seen, waits, list: (tenantId = 7) => source.list(request({ tenantId })) }
}

it('a Retry-After of half an hour next to free requests only makes that request wait, and is reported', async () => {
  const { clock, waits, list } = await refusing({ ...rate(90), 'retry-after': '1800' })
  await list()
  expect(clock.slept.filter((ms) => ms > 60_000)).toEqual([1_800_000])
  expect(waits).toMatchObject([{ who: 'tenant 7, customers', milliseconds: 1_800_000 }])
  expect(waits[0]?.why).toMatch(/answered 429/)
})

it('without any limit headers it holds everybody', async () => {
  const { source, waits, seen, list } = await refusing({ 'retry-after': '1800' })
  await Promise.all([list(), list(8)])
  expect(waits).toMatchObject([{ who: 'every request' }])
  expect([seen.length, source.stats().rateLimited]).toEqual([3, 1])
})

describe('a Retry-After beyond api.maxWait', () => {
  it('is accepted if the configuration allows it', async () => {
    const { clock, list } = await refusing({ ...rate(90), 'retry-after': '7200' }, { maxWait: 3 * hour })
    await list()
    expect(clock.slept).toContain(7_200_000)
  })

  it.each([
    ['has room', rate(90), 429],
    ['is not reported', {}, 429],
    ['has nothing to do with it', {}, 503],
  ])('ends only that request if the window %s', async (_, headers, status) => {
    const { clock, seen, list } = await refusing({ ...headers, 'retry-after': '315360000' }, { status })
    const error = await refusal(list())
    expect(error).toMatchObject({ reason: 'failed', details: { tenantId: 7, status } })
    expect(error.message).toMatch(/asks to wait .* would have to wait 3650 d/)
    expect((await list(8)).records).toHaveLength(1)
    expect([clock.slept, seen.length]).toEqual([[], 2])
  })

  it('ends everybody without another request if nothing remains until then', async () => {
    const { seen, list } = await refusing({ ...rate(0, 10 * hour), 'retry-after': '36000' })
    for (const tenantId of [7, 8, 9])
      expect(await refusal(list(tenantId))).toMatchObject({ details: { code: 'told_to_wait' } })
    expect(seen).toHaveLength(1)
  })
})

describe('a window that others used up before the first request', () => {
  it('is waited for by all requests, after one request, and is reported', async () => {
    const { clock, seen, waits, list } = await refusing(rate(0, 30_000))
    await Promise.all([7, 8, 9].map(list))
    expect(seen).toHaveLength(4)
    const [waited = 0, ...more] = clock.slept
    expect(more).toEqual([])
    expect(waited).toBeGreaterThan(28_000)
    expect(waited).toBeLessThan(33_000)
    expect(waits).toMatchObject([{ who: 'every request', why: expect.stringContaining('100 requests') }])
  })

  it('ends with a message about the rate limit if it never ends', async () => {
    const { seen, list } = await refusing(rate(0, 30_000), { refusals: 99 })
    const hint = expect.stringContaining('rate limit is used up')
    expect(await refusal(list())).toMatchObject({ reason: 'failed', details: { status: 429 }, hint })
    expect(seen).toHaveLength(3)
  })
})

it('a window that is used up for longer than api.maxWait refuses waiting and new requests', async () => {
  const stand = new Stand({ connections: 4 })
  const { throttle } = stand
  const permit = await throttle.acquire(work())
  const waiting = refusal(throttle.acquire(work(2)))
  permit.release(stand.said({ remaining: 0, endsIn: 24 * hour }))
  for (const refused of [waiting, refusal(throttle.acquire(work(3)))])
    expect(await refused).toMatchObject({ name: 'Skip', details: { code: 'told_to_wait' } })
  expect(stand.waits).toEqual([])
  // The day after, it is a different window.
  await stand.clock.pass(24 * hour + 2000)
  await stand.ask(1)
  expect(stand.granted).toHaveLength(1)
})

it('a wait of the whole program is reported once, however often it is checked', async () => {
  const stand = new Stand({ connections: 4 })
  await stand.learn({ remaining: 0, endsIn: 600_000 })
  await stand.ask(3)
  expect(await stand.after(601_000)).toBeGreaterThan(0)
  await settled()
  const why = expect.stringContaining('100 requests is used up')
  expect(stand.waits).toMatchObject([{ who: 'every request', why }])
})
