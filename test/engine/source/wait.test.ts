/** Waits that the API demands of the client. What they end in a run: run/wait.txt. */
import { expect, it } from 'vitest'
import type { WaitNotice } from '../../../src/engine/source/rate/wait.js'
import { client, envelope, httpServer, refusal, request, sendJson } from '../../support/harness/server.js'

const hour = 3_600_000
const rate = (remaining: number, resetIn = 60_000): Record<string, string> => ({
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(Math.floor((Date.now() + resetIn) / 1000)),
})
/** A server that refuses the first requests with these headers, and answers the others; and its client. */
async function refusing(headers: Record<string, string>, { refusals = 1, maxWait = hour } = {}) {
  const { url, seen } = await httpServer((_request, response, number) => {
    if (number <= refusals) response.writeHead(429, headers).end()
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

it('a Retry-After beyond the usual longest wait is accepted if the configuration allows it', async () => {
  const { clock, list } = await refusing({ ...rate(90), 'retry-after': '7200' }, { maxWait: 3 * hour })
  await list()
  expect(clock.slept).toContain(7_200_000)
})

it('a window that others used up and that never ends ends with a message about the rate limit', async () => {
  const { seen, list } = await refusing(rate(0, 30_000), { refusals: 99 })
  const hint = expect.stringContaining('rate limit is used up')
  expect(await refusal(list())).toMatchObject({ reason: 'failed', details: { status: 429 }, hint })
  expect(seen).toHaveLength(3)
})
