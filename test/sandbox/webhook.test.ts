/** How the sandbox announces changes: what is sent, to whom, and how often. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { EVENT_NAMES, type Sandbox, type WebhookOptions } from '../../src/sandbox/index.js'
import { emptySandbox, request, shop } from '../support/harness/requests.js'
import { sized } from '../support/harness/size.js'
import { customer, receiver } from './receiver.js'

const fixture = (name: string): Buffer => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))

/** An empty sandbox with these webhooks, and customers that are created in it. */
async function announcing(webhooks: WebhookOptions, customers = 1): Promise<Sandbox> {
  const sandbox = await emptySandbox({ webhooks })
  for (let id = 1; id <= customers; id += 1) sandbox.store.put(101, 'customers', customer(id))
  await sandbox.delivered()
  return sandbox
}

describe('an event', () => {
  it('announces what was created, updated and deleted, with the secret, as a read by id shows it', async () => {
    const { url, received } = await receiver()
    const sandbox = await emptySandbox()
    const { store, delivered } = sandbox
    const events = ['customer.created', 'customer.updated', 'customer.deleted']
    expect((await request(sandbox, '/webhooks', { method: 'POST', body: { url, events } })).status).toBe(201)
    store.put(101, 'customers', customer(1))
    await delivered()
    store.put(101, 'customers', { ...customer(1, '05'), zip: 12345678901234567890n })
    await delivered()
    const headers = { 'X-Api-Partner-Id': sandbox.partnerId, 'X-Api-Secret': sandbox.secret }
    const read = await (await fetch(`${sandbox.url}/api/v1/tenants/101/customers/1`, { headers })).text()
    store.remove(101, 'customers', 1)
    store.put(101, 'vehicles', { id: 1, updated_at: '2026-01-01T00:00:00Z' })
    await delivered()
    expect(received.map(({ event }) => event.event)).toEqual(events)
    const payload = { type: 'Customer', id: 1, tenant_id: 101 }
    const event = { timestamp: '2026-03-02T12:00:00.000000Z', payload }
    expect(received[1]).toMatchObject({ secret: 'sandbox-secret', event })
    // Verbatim: parsing and printing it would round.
    expect(received[1]!.text).toContain(`"data":${read}}}`)
    expect(read).toContain('"zip":12345678901234567890')
    expect(Object.keys(received[2]!.event.payload).sort()).toEqual(['id', 'tenant_id', 'type'])
  })

  it('announces what partners write, and that a record has a tag', async () => {
    const { url, received } = await receiver()
    const sandbox = await emptySandbox({ webhooks: { hooks: [{ url, events: EVENT_NAMES }] } })
    await shop(sandbox, 'customers', { method: 'POST', body: { last_name: 'Ours' } })
    const body = { taggable_type: 'Customer', taggable_id: 1, name: 'a', value: 'b' }
    expect((await shop(sandbox, 'integrator_tags', { method: 'POST', body })).status).toBe(201)
    await sandbox.delivered()
    expect(received.map(({ event }) => event.event)).toEqual(['customer.created', 'customer.updated'])
  })

  it('is sent neither about tenants that are not granted, nor about records that have none', async () => {
    const { url, received } = await receiver()
    const hooks = [{ url, events: ['customer.created', 'note.created'] }]
    const { store, delivered } = await announcing({ hooks }, 0)
    store.put(101, 'notes', { id: 1, updated_at: '2026-01-01T00:00:00Z' })
    store.revoke(101)
    store.put(101, 'customers', customer(1))
    await delivered()
    expect(received).toEqual([])
  })
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

it('accepts at most 20 webhooks, with https or loopback addresses, for events that exist', async () => {
  const sandbox = await emptySandbox()
  const asked = async (body: unknown) =>
    (await request(sandbox, '/webhooks', { method: 'POST', body })).status
  const [url, events] = ['https://example.com/', ['customer.created']]
  expect(await asked({ url: 'http://example.com/', events })).toBe(422)
  for (const name of ['Customer.Created', 'customer.vanished', 'note.created', 'constructor.created', 7])
    expect([name, await asked({ url, events: [...events, name] })]).toEqual([name, 422])
  expect(await asked({ url, events: [] })).toBe(422)
  expect([await asked(''), await asked('{')]).toEqual([400, 400])
  for (let i = 0; i < 20; i += 1) expect(await asked({ url, events })).toBe(201)
  expect(await asked({ url, events })).toBe(422)
})
