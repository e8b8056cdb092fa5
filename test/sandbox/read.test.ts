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
  it('nobody with a wrong secret or partner, or none', async () => {
    for (const name of ['X-Api-Secret', 'X-Api-Partner-Id'])
      for (const value of ['wrong', ''])
        expect((await shop(sandbox, 'notes', { headers: { [name]: value } })).status).toBe(401)
  })

  const statuses = `
200 tenants/101/notes tenants/103/notes tenants/102/vehicles
404 tenants/104/notes tenants/999/notes tenants/abc/notes partners/41/authorizations
404 tenants/101/gadgets tenants/101/vehicles tenants/102/statuses tenants/101/notes/151
`
  it.each(statuses.trim().split('\n'))('%s', async (line) => {
    const [status, ...paths] = line.split(' ')
    for (const path of paths)
      expect([path, (await request(sandbox, `/api/v1/${path}`)).status]).toEqual([path, Number(status)])
  })

  it('a tenant that only grants reading answers every write with 403', async () => {
    for (const write of ['POST notes', 'PUT notes/1', 'DELETE appointments/1', 'POST vehicles']) {
      const [method = '', path] = write.split(' ')
      const { status } = await request(sandbox, `/api/v1/tenants/103/${path}`, { method, body: {} })
      expect([write, status]).toEqual([write, 403])
    }
  })

  it('the granted tenants are listed as authorizations', async () => {
    const { body } = await request(sandbox, '/api/v1/partners/42/authorizations')
    const ids = (id: number): object => ({ id: 5000 + id, tenant_id: id, api_tenant_id: 90_000 + id })
    const granted = (id: number, writable = true): object => ({ ...ids(id), api_partner_id: 42, writable })
    const envelope = { limit: 3, limited: false, total_count: 3, current_page: 1, total_pages: 1 }
    expect(body).toEqual({ results: [granted(101), granted(102), granted(103, false)], ...envelope })
  })

  it('what is not a list of records is answered as it is', async () => {
    expect((await listed('widgets/5')).body).toEqual({ id: 5, updated_at })
    expect((await listed('payments/customer_payment_types')).body).toEqual(['Fleet', 'Coupon'])
  })
})

describe('lists', () => {
  // 30 records by default; what is no positive number counts as absent.
  it.each([
    ['', 150, 121, 1, 5],
    ['page=5', 30, 1, 5, 5],
    ['page=9', 0, 1, 9, 5],
    ...['page=0', 'page=abc', 'per_page=0', 'per_page=abc', 'per_page=-5'].map(
      (query) => [query, 150, 121, 1, 5] as const,
    ),
    ['per_page=7&page=22', 3, 1, 22, 22],
    ['per_page=100', 150, 51, 1, 2],
    ['per_page=101', 150, 51, 1, 2],
    ['per_page=100&page=2', 50, 1, 2, 2],
  ] as const)('notes?%s: %i to %i, page %i of %i', async (query, last, first, current_page, total_pages) => {
    const { body } = await listed(`notes?${EPOCH}&${query}`)
    const { results, ...rest } = body
    const found = from(last, first)
    expect(results.map(({ id }: { id: number }) => id)).toEqual(found)
    const counts = { limit: found.length, limited: found.length === 100, total_count: 150 }
    expect(rest).toEqual({ ...counts, current_page, total_pages })
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

  const moments = `
2026-01-01T10:00:00Z 2026-01-01T10:00:00+00:00 2026-01-01T10:00:00%2B00:00 2026-01-01T10%3A00%3A00Z → [2,1]
2026-01-01T10:00:00.000000Z 2026-01-01T12:00:00.000%2B02:00 20260101T170000+0700 20260101T170000%2B0700 → [2,1]
20260101T030000.000000-0700 20260101T100000Z → [2,1]
2026-01-01T10:00:00.000001Z → [2]
2026-01-01T09:59:59.999999Z → [2,1,0]
yesterday 2026-01-01 2026-01-01T10:00:00 2026-13-01T10:00:00Z 2026-02-30T10:00:00Z → 422
`
  it.each(moments.trim().split('\n'))('updated_after=%s', async (line) => {
    const [texts = '', found = ''] = line.split(' → ')
    for (const text of texts.split(' ')) {
      const reply = await listed(`categories?updated_after=${text}`)
      expect([text, reply.status === 200 ? ids(reply) : reply.status]).toEqual([text, JSON.parse(found)])
    }
  })

  it('filter by true microseconds at whatever precision is printed', async () => {
    const own = await emptySandbox({ timestamps: { digits: 0, offset: '+02:00' } })
    const services = [{ completed_at: '2026-01-01T00:00:00.9Z' }, { completed_at: '1969-12-31T23:59:58.25Z' }]
    own.store.put(101, 'notes', { id: 1, updated_at: '2026-01-01T23:00:00.700000Z', services })
    const { body } = await shop(own, 'notes?updated_after=2026-01-01T23:00:00.699999Z')
    const printed = ['2026-01-01T02:00:00+02:00', '1970-01-01T01:59:58+02:00'].map((completed_at) => ({
      completed_at,
    }))
    expect(body.results).toEqual([{ id: 1, updated_at: '2026-01-02T01:00:00+02:00', services: printed }])
    expect(own.store.all(101, 'notes')).toEqual(body.results)
    expect((await shop(own, 'notes?updated_after=2026-01-01T23:00:00.7Z')).body.total_count).toBe(0)
  })
})

describe('headers', () => {
  it('are the documented ones, in refusals too', async () => {
    const [first, second] = [await listed('notes'), await listed('nothing')]
    const shown = ({ headers }: Reply, ...names: string[]) => names.map((name) => headers.get(name))
    expect(shown(first, 'content-type', 'cache-control')).toEqual([
      'application/json; charset=utf-8',
      'private, no-store',
    ])
    expect(shown(first, 'date', 'x-ratelimit-matchkey')).toEqual(['Mon, 02 Mar 2026 12:00:00 GMT', '42'])
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
      const its = ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)))
      return [status, ...its]
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
