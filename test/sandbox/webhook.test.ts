/** How the sandbox announces changes: when, to whom, and how often. What is sent: events.txt. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Rule, Sandbox, WebhookOptions } from '../../src/sandbox/index.js'
import { emptySandbox, ids, shop } from '../support/harness/requests.js'
import { sized } from '../support/harness/size.js'
import { customer, receiver } from './receiver.js'

const fixture = (name: string): Buffer => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))

/** An empty sandbox with these webhooks, and customers that are created in it. */
async function announcing(
  webhooks: WebhookOptions,
  customers = 1,
  script: readonly Rule[] = [],
): Promise<Sandbox> {
  const sandbox = await emptySandbox({ webhooks, script })
  for (let id = 1; id <= customers; id += 1) sandbox.store.put(101, 'customers', customer(id))
  await sandbox.delivered()
  return sandbox
}

it('an event has the record verbatim, as a read by id shows it', async () => {
  const { url, received } = await receiver()
  const sandbox = await announcing({ hooks: [{ url }] }, 0)
  sandbox.store.put(101, 'customers', { ...customer(1), zip: 12345678901234567890n })
  await sandbox.delivered()
  const headers = { 'X-Api-Partner-Id': sandbox.partnerId, 'X-Api-Secret': sandbox.secret }
  const read = await (await fetch(`${sandbox.url}/api/v1/tenants/101/customers/1`, { headers })).text()
  expect(read).toContain('"zip":12345678901234567890')
  expect(received[0]!.text).toContain(`"data":${read}}}`)
  expect(received[0]).toMatchObject({ event: { timestamp: '2026-03-02T12:00:00.000000Z' } })
})

it('a webhook gets the events that it asked for', async () => {
  const { url, received } = await receiver()
  const hooks = [{ url, events: ['customer.deleted'] }]
  const { store, delivered } = await announcing({ hooks })
  store.remove(101, 'customers', 1)
  await delivered()
  expect(received.map(({ event }) => event.event)).toEqual(['customer.deleted'])
})

describe('deliveries', () => {
  it('are made twice, late and shuffled, or not at all, as configured', async () => {
    const heard = await receiver()
    const made = async (webhooks: WebhookOptions, count: number): Promise<Sandbox> => {
      heard.received.length = 0
      return announcing({ hooks: [heard], ...webhooks }, count)
    }
    await made({ twice: 1 }, 1)
    expect(heard.ids()).toEqual([1, 1])
    expect(heard.received[0]!.event.id).toBe(heard.received[1]!.event.id)
    const all = Array.from({ length: 30 }, (_, i) => i + 1)
    await made({ delayMs: 200, seed: 2 }, 30)
    expect(heard.ids()).not.toEqual(all)
    expect([...heard.ids()].sort((a, b) => Number(a) - Number(b))).toEqual(all)
    const { deliveries } = await made({ drop: 0.5 }, 30)
    const lost = deliveries.filter(({ error }) => error === 'dropped')
    expect(lost.length).toBeGreaterThan(5)
    expect(heard.received.length + lost.length).toBe(30)
    expect(lost[0]).toMatchObject({ sent: null, status: null, attempt: 1 })
  })

  it('are repeated if they are not answered with 2xx, and each attempt has its line', async () => {
    const { url, received } = await receiver({ status: (n) => (n < 3 ? 503 : 204) })
    const { deliveries, store } = await announcing({ hooks: [{ url }], retry: 5 })
    const at = store.clock.nowMicros()
    const what = { event: received[0]!.event.id, name: 'customer.created', tenant: 101, record: 1 }
    const line = { ...what, url, changed: at, sent: at, ended: at, error: null }
    const attempts = [503, 503, 204].map((status, i) => ({ ...line, attempt: i + 1, status }))
    expect(deliveries).toEqual(attempts)
    expect(new Set(received.map(({ text }) => text)).size).toBe(1)
  })

  it.each(['reset', 'close'] as const)('that wait are never made after %s', async (end) => {
    const { url, received } = await receiver({ status: () => 500 })
    const webhooks = { hooks: [{ url }], delayMs: 86_400_000, retry: 1000 }
    const sandbox = await emptySandbox({ webhooks })
    sandbox.store.put(101, 'customers', customer(1))
    await sandbox[end]()
    await sandbox.delivered()
    expect([sandbox.deliveries, received]).toEqual([[], []])
  })

  it('are made to a certificate only if it is known', async () => {
    const tls = { key: fixture('server.key'), cert: fixture('server.pem') }
    const { url, received } = await receiver({ tls })
    const made = async (trust: WebhookOptions) =>
      (await announcing({ hooks: [{ url }], ...trust })).deliveries
    expect(await made({})).toMatchObject([{ status: null, error: expect.stringMatching(/certificate/) }])
    expect(received).toEqual([])
    expect(await made({ ca: fixture('ca.pem').toString() })).toMatchObject([{ status: 200 }])
    expect(received.length).toBe(1)
  })

  it('follow no redirect, and are not stopped by receivers that refuse or do not exist', async () => {
    const there = [await receiver({ status: () => 302 }), await receiver({ status: () => 500 })]
    const hooks = [...there, { url: 'http://127.0.0.1:9/' }]
    const { deliveries } = await announcing({ hooks })
    const made = hooks.map(({ url }) => deliveries.filter((one) => one.url === url))
    const gone = { error: expect.stringMatching(/ECONNREFUSED/) }
    expect(made).toMatchObject([[{ status: 302 }], [{ status: 500 }], [gone]])
  })

  it('of many events to several addresses are made once each', async () => {
    const count = sized(300, 2000)
    const hooks = [await receiver(), await receiver()]
    const sandbox = await announcing({ hooks }, 0)
    for (let id = 1; id <= count; id += 1) {
      sandbox.store.put(101, 'customers', customer(id))
      // All at once, a busy machine would not open 64 connections within the deadline of a delivery.
      if (id % 100 === 0) await sandbox.delivered()
    }
    for (const { ids } of hooks) expect(new Set(ids()).size).toBe(count)
    expect(sandbox.deliveries.filter(({ status }) => status !== 200)).toEqual([])
    expect(sandbox.deliveries.length).toBe(2 * count)
  })
})

it('an event is delayed, so that the next one overtakes it', async () => {
  const heard = await receiver()
  const script = [{ when: { id: 1 }, event: { kind: 'delay', ms: 300 } as const }]
  await announcing({ hooks: [heard] }, 2, script)
  expect(heard.ids()).toEqual([2, 1])
})

/** What the lists and a read by id of customer 1 show while the event of a change is under way, and afterwards. */
it.each<[string, change: (store: Sandbox['store']) => void, last: unknown[], looks: number]>([
  ['a change', (store) => store.put(101, 'customers', customer(1, '05')), [[1, 2], 2, '05'], 2],
  ['a deletion', (store) => store.remove(101, 'customers', 1), [[2], 1, 404], 2],
  [
    'a creation, whose id no other record gets',
    (store) => {
      store.put(101, 'customers', customer(3, '04'))
      expect(store.collection(101, 'customers').nextKey).toBe(4)
    },
    [[3, 2, 1], 3, '00'],
    2,
  ],
  [
    'changes, the last of which is shown once all events have been sent',
    (store) => {
      for (const second of ['05', '06', '07']) store.put(101, 'customers', customer(1, second))
    },
    [[1, 2], 2, '07'],
    4,
  ],
])('an event is sent before the lists show %s', async (_, change, last, looks) => {
  const seen: unknown[] = []
  const look = async () => {
    const paths = ['customers?updated_after=1970-01-01T00:00:00Z', 'customers', 'customers/1']
    const [listed, whole, one] = await Promise.all(paths.map((path) => shop(sandbox, path)))
    const at = one!.status === 200 ? one!.body.updated_at.slice(17, 19) : one!.status
    seen.push([ids(listed!), whole!.body.total_count, at])
  }
  const sandbox = await announcing({ hooks: [await receiver({ before: look })] }, 0)
  sandbox.store.put(101, 'customers', customer(1))
  sandbox.store.put(101, 'customers', customer(2, '03'))
  await sandbox.delivered()
  seen.length = 0
  sandbox.script([{ event: { kind: 'before', ms: 0 } }])
  change(sandbox.store)
  await sandbox.delivered()
  await look()
  expect(seen).toEqual([...Array(looks - 1).fill([[2, 1], 2, '00']), last])
})
