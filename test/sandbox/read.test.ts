/** What the sandbox answers to reads: the document of the API, as requests and their answers. */
import { describe, expect, it } from 'vitest'
import {
  EPOCH,
  emptySandbox,
  ids,
  noon,
  putNotes,
  type Reply,
  request,
  shop,
} from '../support/harness/requests.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { HandClock } from '../support/world/clocks.js'

const updated_at = '2026-01-01T00:00:00Z'
const from = (last: number, first: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => last - i)

/** One for all tests that only read: 150 notes, and records for each filter. */
const sandbox = await sandboxOfFile({
  data: 'none',
  clock: new HandClock(noon),
  rate: { limit: 1000, window: 10 },
  tenants: [
    { id: 101, strings: { customer_payment_types: ['Fleet', 'Coupon'] } },
    { id: 102 },
    { id: 103, writable: false },
    { id: 104 },
  ],
})
const { store } = sandbox
putNotes(sandbox, 150)
store.revoke(104)
store.register('widgets')
store.put(101, 'widgets', { id: 5, updated_at })
store.switchOff('vehicles', 101)
store.switchOff('statuses')
store.put(101, 'repair_orders', { id: 70, updated_at, customer_id: 5, vehicle_id: 6 })
for (const [id, hour] of ['09', '10', '11'].entries())
  store.put(101, 'appointments', {
    id,
    updated_at: `2026-01-0${id + 1}T00:00:00Z`,
    shop_id: id % 2,
    repair_order_id: id === 1 ? 70 : null,
    start_at: `2026-02-01T${hour}:00:00Z`,
    end_at: `2026-02-01T${Number(hour) + 1}:00:00Z`,
  })
for (const [id, last_name] of ['Miller', 'Mills', 'Smith'].entries())
  store.put(101, 'customers', { id, updated_at, last_name, email: `${last_name}@example.com` })
for (const id of [1, 2, 3]) store.put(101, 'past_recommendations', { id, updated_at, done: id === 2 })
for (const [id, fraction] of ['000000', '000001', '999999'].entries())
  store.put(101, 'categories', { id, updated_at: `2026-01-01T10:00:00.${fraction}Z` })

const listed = (path: string): Promise<Reply> => shop(sandbox, path)

describe('who may read what', () => {
  it.each([
    ['a wrong secret', { 'X-Api-Secret': 'wrong' }],
    ['no secret', { 'X-Api-Secret': '' }],
    ['a wrong partner', { 'X-Api-Partner-Id': '43' }],
    ['no partner', { 'X-Api-Partner-Id': '' }],
  ])('%s is answered with 401', async (_, headers) => {
    expect((await shop(sandbox, 'notes', { headers })).status).toBe(401)
  })

  it.each([
    ['/api/v1/tenants/101/notes', 200],
    ['/api/v1/tenants/103/notes', 200],
    ['/api/v1/tenants/104/notes', 404],
    ['/api/v1/tenants/999/notes', 404],
    ['/api/v1/tenants/abc/notes', 404],
    ['/api/v1/partners/41/authorizations', 404],
    ['/api/v1/tenants/101/gadgets', 404],
    ['/api/v1/tenants/101/vehicles', 404],
    ['/api/v1/tenants/102/vehicles', 200],
    ['/api/v1/tenants/102/statuses', 404],
    ['/api/v1/tenants/101/notes/151', 404],
  ])('%s is answered with %i', async (path, status) => {
    expect((await request(sandbox, path)).status).toBe(status)
  })

  it.each([
    ['POST', 'notes'],
    ['PUT', 'notes/1'],
    ['DELETE', 'appointments/1'],
    ['POST', 'vehicles'],
  ])('a tenant that only grants reading answers %s %s with 403', async (method, path) => {
    expect((await request(sandbox, `/api/v1/tenants/103/${path}`, { method, body: {} })).status).toBe(403)
  })

  it('the granted tenants are listed as authorizations', async () => {
    const { body } = await request(sandbox, '/api/v1/partners/42/authorizations')
    const granted = (id: number, writable = true): object => ({
      id: 5000 + id,
      api_partner_id: 42,
      tenant_id: id,
      writable,
      api_tenant_id: 90_000 + id,
    })
    expect(body).toEqual({
      results: [granted(101), granted(102), granted(103, false)],
      limit: 3,
      limited: false,
      total_count: 3,
      current_page: 1,
      total_pages: 1,
    })
  })

  it('what is not a list of records is answered as it is', async () => {
    expect((await listed('widgets/5')).body).toEqual({ id: 5, updated_at })
    expect((await listed('payments/customer_payment_types')).body).toEqual(['Fleet', 'Coupon'])
  })
})

describe('lists', () => {
  it.each([
    // 30 records by default; what is no positive number counts as absent.
    ['', from(150, 121), { limit: 30, current_page: 1, total_pages: 5 }],
    ['page=5', from(30, 1), { limit: 30, current_page: 5, total_pages: 5 }],
    ['page=9', [], { limit: 0, current_page: 9, total_pages: 5 }],
    ['page=0', from(150, 121), { limit: 30, current_page: 1, total_pages: 5 }],
    ['page=abc', from(150, 121), { limit: 30, current_page: 1, total_pages: 5 }],
    ['per_page=0', from(150, 121), { limit: 30, current_page: 1, total_pages: 5 }],
    ['per_page=abc', from(150, 121), { limit: 30, current_page: 1, total_pages: 5 }],
    ['per_page=-5', from(150, 121), { limit: 30, current_page: 1, total_pages: 5 }],
    ['per_page=7&page=22', from(3, 1), { limit: 3, current_page: 22, total_pages: 22 }],
    ['per_page=100', from(150, 51), { limit: 100, current_page: 1, total_pages: 2, limited: true }],
    ['per_page=101', from(150, 51), { limit: 100, current_page: 1, total_pages: 2, limited: true }],
    ['per_page=100&page=2', from(50, 1), { limit: 50, current_page: 2, total_pages: 2 }],
  ])('notes?%s', async (query, found, envelope) => {
    const { body } = await listed(`notes?${EPOCH}&${query}`)
    const { results, ...rest } = body
    expect([ids({ body } as Reply), rest]).toEqual([found, { limited: false, total_count: 150, ...envelope }])
  })

  it('are sorted by updated_at only if updated_after is given, and otherwise always in the same order', async () => {
    const plain = ids(await listed('notes?per_page=100'))
    expect(plain).not.toEqual([...plain].sort((a, b) => b - a))
    expect(plain).not.toEqual([...plain].sort((a, b) => a - b))
    const pages = [await listed('notes?per_page=50&page=1'), await listed('notes?per_page=50&page=2')]
    expect(pages.flatMap(ids)).toEqual(plain)
  })

  it.each([
    ['appointments', 'start_after=2026-02-01T09:00:00Z', [2, 1]],
    ['appointments', 'end_before=2026-02-01T12:00:00Z', [1, 0]],
    ['appointments', 'shop_id=0', [2, 0]],
    ['appointments', 'customer_id=5', [1]],
    ['appointments', 'vehicle_id=6', [1]],
    ['appointments', 'vehicle_id=7', []],
    ['appointments', 'shop_id=0&start_after=2026-02-01T09:30:00Z', [2]],
    ['customers', 'last_name=Mill', [1, 0]],
    ['customers', 'last_name=Mill&email=ller@', [0]],
    ['notes', 'repair_order_id=2&per_page=2', [149, 146]],
    ['past_recommendations', 'done=true', [2]],
    ['past_recommendations', 'done=false', [3, 1]],
    ['past_recommendations', 'done=maybe', 422],
  ])('%s?%s', async (resource, query, found) => {
    const reply = await listed(`${resource}?${EPOCH}&${query}`)
    expect(reply.status === 200 ? ids(reply) : reply.status).toEqual(found)
  })

  it.each([
    ['2026-01-01T10:00:00Z', [2, 1]],
    ['2026-01-01T10:00:00+00:00', [2, 1]],
    ['2026-01-01T10:00:00%2B00:00', [2, 1]],
    ['2026-01-01T10%3A00%3A00Z', [2, 1]],
    ['2026-01-01T10:00:00.000000Z', [2, 1]],
    ['2026-01-01T12:00:00.000%2B02:00', [2, 1]],
    ['20260101T170000+0700', [2, 1]],
    ['20260101T170000%2B0700', [2, 1]],
    ['20260101T030000.000000-0700', [2, 1]],
    ['20260101T100000Z', [2, 1]],
    ['2026-01-01T10:00:00.000001Z', [2]],
    ['2026-01-01T09:59:59.999999Z', [2, 1, 0]],
    ['yesterday', 422],
    ['2026-01-01', 422],
    ['2026-01-01T10:00:00', 422],
    ['2026-13-01T10:00:00Z', 422],
    ['2026-02-30T10:00:00Z', 422],
  ])('updated_after=%s', async (text, found) => {
    const reply = await listed(`categories?updated_after=${text}`)
    expect(reply.status === 200 ? ids(reply) : reply.status).toEqual(found)
  })

  it('filter by true microseconds at whatever precision is printed', async () => {
    const own = await emptySandbox({ timestamps: { digits: 0, offset: '+02:00' } })
    const services = [{ completed_at: '2026-01-01T00:00:00.9Z' }, { completed_at: '1969-12-31T23:59:58.25Z' }]
    own.store.put(101, 'notes', { id: 1, updated_at: '2026-01-01T23:00:00.700000Z', services })
    const { body } = await shop(own, 'notes?updated_after=2026-01-01T23:00:00.699999Z')
    const printed = [
      { completed_at: '2026-01-01T02:00:00+02:00' },
      { completed_at: '1970-01-01T01:59:58+02:00' },
    ]
    expect(body.results).toEqual([{ id: 1, updated_at: '2026-01-02T01:00:00+02:00', services: printed }])
    expect(own.store.all(101, 'notes')).toEqual(body.results)
    expect((await shop(own, 'notes?updated_after=2026-01-01T23:00:00.7Z')).body.total_count).toBe(0)
  })
})

describe('headers', () => {
  it('are the documented ones, in refusals too', async () => {
    const [first, second] = [await listed('notes'), await listed('nothing')]
    const shown = ({ headers }: Reply, ...names: string[]) => names.map((name) => headers.get(name))
    expect(
      shown(first, 'content-type', 'cache-control', 'date', 'x-ratelimit-matchkey', 'x-ratelimit-limit'),
    ).toEqual([
      ...[
        'application/json; charset=utf-8',
        'private, no-store',
        'Mon, 02 Mar 2026 12:00:00 GMT',
        '42',
        '1000',
      ],
    ])
    expect(Number(first.headers.get('x-runtime'))).toBeGreaterThan(0)
    const left = [first, second].map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    expect(left[1]).toBe((left[0] ?? 0) - 1)
    expect(shown(second, 'x-request-id')).not.toEqual(shown(first, 'x-request-id'))
  })

  it('spare unchanged content', async () => {
    const tag = (await listed('notes/7')).headers.get('etag')!
    const asked = () => shop(sandbox, 'notes/7', { headers: { 'If-None-Match': tag } })
    expect((await asked()).status).toBe(304)
    sandbox.store.change(101, 'notes', 7, {}, 1_767_225_607_000_001n)
    expect((await asked()).status).toBe(200)
  })

  it('compress only if configured and accepted by the client', async () => {
    const own = await emptySandbox({ gzip: true })
    putNotes(own, 3)
    for (const encoding of ['gzip', 'identity']) {
      const reply = await shop(own, `notes?${EPOCH}`, { headers: { 'Accept-Encoding': encoding } })
      expect([reply.headers.get('content-encoding'), ids(reply)]).toEqual([
        encoding === 'gzip' ? encoding : null,
        [3, 2, 1],
      ])
    }
  })

  it('tell of the rate limit: 429 when a window is used up, others use their part of it, and the next is whole', async () => {
    const clock = new HandClock('2026-03-02T12:00:07Z')
    const own = await emptySandbox({ clock, rate: { limit: 5, window: 10, others: 3 } })
    const asked = async () => {
      const { status, headers } = await shop(own, 'notes')
      return [
        status,
        ...['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`))),
      ]
    }
    const end = Date.UTC(2026, 2, 2, 12, 0, 10) / 1000
    expect([await asked(), await asked(), await asked()]).toEqual([
      [200, 5, 1, end],
      [200, 5, 0, end],
      [429, 5, 0, end],
    ])
    clock.pass(3000)
    expect(await asked()).toEqual([200, 5, 1, end + 10])
  })
})
