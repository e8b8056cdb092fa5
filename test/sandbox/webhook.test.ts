import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { emptySandbox, request } from '../support/requests.js'

interface Received {
  secret: string | undefined
  event: { id: string; timestamp: string; event: string; payload: Record<string, unknown> }
}

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function receiver(status = 200): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer((incoming, response) => {
    let text = ''
    incoming.on('data', (chunk) => {
      text += chunk
    })
    incoming.on('end', () => {
      received.push({ secret: incoming.headers['x-api-secret'] as string, event: JSON.parse(text) })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received }
}

const customer = (id: number, second = '00') => ({
  id,
  updated_at: `2026-01-01T00:00:${second}.000000Z`,
  last_name: 'Müller',
})

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

  it('says nothing of tenants that are not granted, or of records that have no event', async () => {
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

  it('delivers late and twice when told to', async () => {
    const { url, received } = await receiver()
    const hooks = [{ url, events: ['customer.created'] }]
    const twice = await emptySandbox({ webhooks: { hooks, twice: 1 } })
    twice.store.put(101, 'customers', customer(1))
    await twice.delivered()
    expect(received.map(({ event }) => event.payload['id'])).toEqual([1, 1])
    expect(received[0]!.event.id).toBe(received[1]!.event.id)
    received.length = 0
    const late = await emptySandbox({ webhooks: { hooks, late: 0.5, seed: 2 } })
    for (let id = 1; id <= 12; id += 1) late.store.put(101, 'customers', customer(id))
    await late.delivered()
    expect(received.map(({ event }) => event.payload['id']).sort((a, b) => Number(a) - Number(b))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    ])
  })

  it('accepts at most 20, of https or loopback addresses, for well-formed events', async () => {
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

  it('is not stopped by receivers that refuse or are not there', async () => {
    const { url } = await receiver(500)
    const sandbox = await emptySandbox({
      webhooks: {
        hooks: [
          { url, events: ['customer.created'] },
          { url: 'http://127.0.0.1:9/', events: ['customer.created'] },
        ],
      },
    })
    sandbox.store.put(101, 'customers', customer(1))
    await expect(sandbox.delivered()).resolves.toBeUndefined()
  })
})
