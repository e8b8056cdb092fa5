import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { emptySandbox, request } from '../support/harness/requests.js'
import { sized } from '../support/harness/size.js'
import { customer, receiver } from './receiver.js'

const fixture = (name: string): Buffer => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))

describe('webhooks', () => {
  it('announces what was created, updated and deleted, with the secret', async () => {
    const { url, received } = await receiver()
    const sandbox = await emptySandbox()
    const made = await request(sandbox, '/webhooks', {
      method: 'POST',
      body: { url, events: ['customer.created', 'customer.updated', 'customer.deleted'] },
    })
    expect(made.status).toBe(201)
    for (const change of [
      () => sandbox.store.put(101, 'customers', customer(1)),
      () => sandbox.store.put(101, 'customers', customer(1, '05')),
      () => sandbox.store.remove(101, 'customers', 1),
    ]) {
      change()
      await sandbox.delivered()
    }
    sandbox.store.put(101, 'vehicles', { id: 1, updated_at: '2026-01-01T00:00:00Z' })
    await sandbox.delivered()
    expect(received.map(({ event }) => event.event)).toEqual([
      'customer.created',
      'customer.updated',
      'customer.deleted',
    ])
    expect(received[1]).toMatchObject({
      secret: 'sandbox-secret',
      event: {
        timestamp: '2026-03-02T12:00:00.000000Z',
        payload: { type: 'Customer', id: 1, tenant_id: 101, data: customer(1, '05') },
      },
    })
    expect(Object.keys(received[2]!.event.payload).sort()).toEqual(['id', 'tenant_id', 'type'])
  })

  it('sends nothing about tenants that are not granted, or records that have no event', async () => {
    const { url, received } = await receiver()
    const sandbox = await emptySandbox({
      webhooks: { hooks: [{ url, events: ['customer.created', 'note.created'] }] },
    })
    sandbox.store.put(101, 'notes', { id: 1, updated_at: '2026-01-01T00:00:00Z' })
    sandbox.store.revoke(101)
    sandbox.store.put(101, 'customers', customer(1))
    await sandbox.delivered()
    expect(received).toEqual([])
  })

  it('sends the record verbatim, as a read by id shows it', async () => {
    const { url, received } = await receiver()
    const sandbox = await emptySandbox({ webhooks: { hooks: [{ url }] } })
    sandbox.store.put(101, 'customers', { ...customer(1), zip: 12345678901234567890n })
    await sandbox.delivered()
    const headers = { 'X-Api-Partner-Id': sandbox.partnerId, 'X-Api-Secret': sandbox.secret }
    const read = await fetch(`${sandbox.url}/api/v1/tenants/101/customers/1`, { headers })
    expect(received[0]!.text).toContain(`"data":${await read.text()}}}`)
    expect(received[0]!.text).toContain('"zip":12345678901234567890')
  })

  it('delivers twice, late and shuffled, or not at all, as configured', async () => {
    const { url, received, ids } = await receiver()
    const hooks = [{ url }]
    const put = async (webhooks: object, count: number) => {
      received.length = 0
      const sandbox = await emptySandbox({ webhooks: { hooks, ...webhooks } })
      for (let id = 1; id <= count; id += 1) sandbox.store.put(101, 'customers', customer(id))
      await sandbox.delivered()
      return sandbox
    }
    await put({ twice: 1 }, 1)
    expect(ids()).toEqual([1, 1])
    expect(received[0]!.event.id).toBe(received[1]!.event.id)
    const all = Array.from({ length: 30 }, (_, i) => i + 1)
    await put({ delayMs: 200, seed: 2 }, 30)
    expect(ids()).not.toEqual(all)
    expect([...ids()].sort((a, b) => Number(a) - Number(b))).toEqual(all)
    const { deliveries } = await put({ drop: 0.5 }, 30)
    const lost = deliveries.filter(({ error }) => error === 'dropped')
    expect(lost.length).toBeGreaterThan(5)
    expect(received.length + lost.length).toBe(30)
    expect(lost[0]).toMatchObject({ sent: null, status: null, attempt: 1 })
  })

  it('retries what is not answered with 2xx, and keeps a line per attempt', async () => {
    const { url, received } = await receiver({ status: (n) => (n < 3 ? 503 : 204) })
    const sandbox = await emptySandbox({ webhooks: { hooks: [{ url }], retry: 5 } })
    sandbox.store.put(101, 'customers', customer(7))
    await sandbox.delivered()
    expect(sandbox.deliveries.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 503],
      [2, 503],
      [3, 204],
    ])
    const at = sandbox.store.clock.nowMicros()
    expect(sandbox.deliveries[2]).toEqual({
      event: received[0]!.event.id,
      name: 'customer.created',
      tenant: 101,
      record: 7,
      url,
      attempt: 3,
      changed: at,
      sent: at,
      ended: at,
      status: 204,
      error: null,
    })
    expect(new Set(received.map(({ text }) => text)).size).toBe(1)
  })

  it('makes none of the waiting deliveries when it is emptied or closed', async () => {
    const { url, received } = await receiver({ status: () => 500 })
    const webhooks = { hooks: [{ url }], delayMs: 86_400_000, retry: 1000 }
    for (const end of ['reset', 'close'] as const) {
      const sandbox = await emptySandbox({ webhooks })
      sandbox.store.put(101, 'customers', customer(1))
      await sandbox[end]()
      await sandbox.delivered()
      expect(sandbox.deliveries).toEqual([])
    }
    expect(received).toEqual([])
  })

  it('does not trust an unknown certificate', async () => {
    const tls = { key: fixture('server.key'), cert: fixture('server.pem') }
    const { url, received } = await receiver({ tls })
    const hooks = [{ url }]
    const careful = await emptySandbox({ webhooks: { hooks } })
    const trusting = await emptySandbox({ webhooks: { hooks, ca: fixture('ca.pem').toString() } })
    for (const { store, delivered } of [careful, trusting]) {
      store.put(101, 'customers', customer(1))
      await delivered()
    }
    expect(careful.deliveries).toMatchObject([{ status: null, error: /certificate/ }])
    expect(trusting.deliveries).toMatchObject([{ status: 200 }])
    expect(received.length).toBe(1)
  })

  it('does not follow redirects', async () => {
    const { url, received } = await receiver({ status: () => 302 })
    const sandbox = await emptySandbox({ webhooks: { hooks: [{ url }] } })
    sandbox.store.put(101, 'customers', customer(1))
    await sandbox.delivered()
    expect(sandbox.deliveries).toMatchObject([{ status: 302 }])
    expect(received.length).toBe(1)
  })

  it('sends many events to several addresses, each once', async () => {
    const count = sized(300, 2000)
    const receivers = [await receiver(), await receiver()]
    const sandbox = await emptySandbox({ webhooks: { hooks: receivers } })
    for (let id = 1; id <= count; id += 1) {
      sandbox.store.put(101, 'customers', customer(id))
      // All at once, a busy machine would not open 64 connections within the deadline of a delivery.
      if (id % 100 === 0) await sandbox.delivered()
    }
    for (const { ids } of receivers) expect(new Set(ids()).size).toBe(count)
    expect(sandbox.deliveries.filter(({ status }) => status !== 200)).toEqual([])
    expect(sandbox.deliveries.length).toBe(2 * count)
  })

  it('accepts at most 20, with https or loopback addresses, for well-formed events', async () => {
    const sandbox = await emptySandbox()
    const configure = async (body: unknown) =>
      (await request(sandbox, '/webhooks', { method: 'POST', body })).status
    expect(await configure({ url: 'http://example.com/', events: ['customer.created'] })).toBe(422)
    for (const name of ['Customer.Created', 'customer.vanished', 'note.created', 'constructor.created', 7])
      expect(await configure({ url: 'https://example.com/', events: ['customer.created', name] })).toBe(422)
    expect(await configure('')).toBe(400)
    expect(await configure({ url: 'https://example.com/', events: [] })).toBe(422)
    expect(await configure('{')).toBe(400)
    for (let i = 0; i < 20; i += 1)
      expect(await configure({ url: 'https://example.com/', events: ['customer.created'] })).toBe(201)
    expect(await configure({ url: 'https://example.com/', events: ['customer.created'] })).toBe(422)
  })

  it('is not stopped by receivers that refuse or do not exist', async () => {
    const { url } = await receiver({ status: () => 500 })
    const sandbox = await emptySandbox({
      webhooks: {
        hooks: [
          { url, events: ['customer.created'] },
          { url: 'http://127.0.0.1:9/', events: ['customer.created'] },
        ],
      },
    })
    sandbox.store.put(101, 'customers', customer(1))
    await sandbox.delivered()
    expect(sandbox.deliveries).toMatchObject([{ status: 500 }, { status: null, error: /ECONNREFUSED/ }])
  })
})
