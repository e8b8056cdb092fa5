import { describe, expect, it } from 'vitest'
import { EPOCH, emptySandbox, ids, putNotes, request, shop } from '../support/harness/requests.js'

describe('authentication and grants', () => {
  it('returns 401 if a credential is missing or wrong', async () => {
    const sandbox = await emptySandbox()
    for (const headers of [
      { 'X-Api-Secret': 'wrong' },
      { 'X-Api-Partner-Id': '43' },
      { 'X-Api-Secret': '' },
      { 'X-Api-Partner-Id': '' },
    ]) {
      expect((await shop(sandbox, 'notes', { headers })).status).toBe(401)
    }
    expect((await fetch(`${sandbox.url}/api/v1/tenants/101/notes`)).status).toBe(401)
  })

  it('returns 404 for a tenant that is not granted, whether or not it exists', async () => {
    const sandbox = await emptySandbox({ tenants: 2 })
    sandbox.store.revoke(102)
    for (const tenant of [102, 999, 'abc']) {
      const reply = await request(sandbox, `/api/v1/tenants/${tenant}/notes`)
      expect(reply.status).toBe(404)
    }
    sandbox.store.grant(102)
    expect((await request(sandbox, '/api/v1/tenants/102/notes')).status).toBe(200)
  })

  it('returns 403 for every method except GET on a read-only tenant', async () => {
    const sandbox = await emptySandbox({ tenants: [{ id: 101, writable: false }] })
    expect((await shop(sandbox, 'notes')).status).toBe(200)
    for (const [method, path] of [
      ['POST', 'notes'],
      ['PUT', 'notes/1'],
      ['DELETE', 'appointments/1'],
      ['POST', 'vehicles'],
    ] as const)
      expect((await shop(sandbox, path, { method, body: {} })).status).toBe(403)
  })

  it('lists the granted tenants as authorizations', async () => {
    const sandbox = await emptySandbox({ tenants: [{ id: 7 }, { id: 8, writable: false }, { id: 9 }] })
    sandbox.store.revoke(9)
    const { body } = await request(sandbox, '/api/v1/partners/42/authorizations')
    expect(body).toEqual({
      results: [
        { id: 5007, api_partner_id: 42, tenant_id: 7, writable: true, api_tenant_id: 90007 },
        { id: 5008, api_partner_id: 42, tenant_id: 8, writable: false, api_tenant_id: 90008 },
      ],
      limit: 2,
      limited: false,
      total_count: 2,
      current_page: 1,
      total_pages: 1,
    })
    expect((await request(sandbox, '/api/v1/partners/41/authorizations')).status).toBe(404)
  })
})

describe('lists', () => {
  it('has the documented envelope, 30 records by default', async () => {
    const sandbox = await emptySandbox()
    putNotes(sandbox, 70)
    const { status, body } = await shop(sandbox, `notes?${EPOCH}&page=3`)
    expect(status).toBe(200)
    const { results, ...rest } = body
    expect(results).toHaveLength(10)
    expect(rest).toEqual({ limit: 10, limited: false, total_count: 70, current_page: 3, total_pages: 3 })
  })

  it.each([
    ['per_page=0', 30, 5, false],
    ['per_page=abc', 30, 5, false],
    ['per_page=-5', 30, 5, false],
    ['per_page=100', 100, 2, true],
    ['per_page=101', 100, 2, true],
    ['per_page=7', 7, 22, false],
    ['page=abc', 30, 5, false],
    ['page=0', 30, 5, false],
  ])('takes %s for a page of %i of %i', async (query, length, pages, limited) => {
    const sandbox = await emptySandbox()
    putNotes(sandbox, 150)
    const { body } = await shop(sandbox, `notes?${EPOCH}&${query}`)
    expect([body.results.length, body.limit, body.total_pages, body.limited, body.current_page]).toEqual([
      length,
      length,
      pages,
      limited,
      1,
    ])
  })

  it('is empty beyond the end, with the true totals', async () => {
    const sandbox = await emptySandbox()
    putNotes(sandbox, 40)
    const { body } = await shop(sandbox, `notes?${EPOCH}&page=9`)
    expect(body).toEqual({
      results: [],
      limit: 0,
      limited: false,
      total_count: 40,
      current_page: 9,
      total_pages: 2,
    })
  })

  it('is sorted by updated_at descending if updated_after is given, and otherwise not', async () => {
    const sandbox = await emptySandbox()
    putNotes(sandbox, 50)
    const newestFirst = ids(await shop(sandbox, `notes?${EPOCH}&per_page=100`))
    expect(newestFirst).toEqual(Array.from({ length: 50 }, (_, i) => 50 - i))
    const plain = ids(await shop(sandbox, 'notes?per_page=100'))
    expect(plain).not.toEqual(newestFirst)
    expect(plain).not.toEqual([...newestFirst].reverse())
    expect([...plain].sort((a, b) => b - a)).toEqual(newestFirst)
    const paged = [...ids(await shop(sandbox, 'notes?page=1')), ...ids(await shop(sandbox, 'notes?page=2'))]
    expect(paged).toEqual(plain)
  })

  it('serves made-up resources, and returns 404 for unknown and switched-off ones', async () => {
    const sandbox = await emptySandbox({ tenants: 2 })
    expect((await shop(sandbox, 'widgets')).status).toBe(404)
    sandbox.store.register('widgets')
    sandbox.store.put(101, 'widgets', { id: 5, updated_at: '2026-01-01T00:00:00Z' })
    expect((await shop(sandbox, 'widgets/5')).body).toEqual({ id: 5, updated_at: '2026-01-01T00:00:00Z' })
    sandbox.store.switchOff('vehicles', 101)
    expect((await shop(sandbox, 'vehicles')).status).toBe(404)
    expect((await request(sandbox, '/api/v1/tenants/102/vehicles')).status).toBe(200)
    sandbox.store.switchOff('vehicles')
    expect((await request(sandbox, '/api/v1/tenants/102/vehicles')).status).toBe(404)
  })

  it('returns the names of custom payment types as a plain array', async () => {
    const sandbox = await emptySandbox({
      tenants: [{ id: 101, strings: { customer_payment_types: ['Fleet', 'Coupon'] } }],
    })
    expect((await shop(sandbox, 'payments/customer_payment_types')).body).toEqual(['Fleet', 'Coupon'])
  })
})

describe('updated_after', () => {
  it.each([
    '2026-01-01T10:00:00Z',
    '2026-01-01T10:00:00+00:00',
    '2026-01-01T10:00:00%2B00:00',
    '2026-01-01T10%3A00%3A00Z',
    '2026-01-01T10:00:00.000000Z',
    '2026-01-01T12:00:00.000%2B02:00',
    '20260101T170000+0700',
    '20260101T170000%2B0700',
    '20260101T030000.000000-0700',
    '20260101T100000Z',
  ])('accepts %s', async (text) => {
    const sandbox = await emptySandbox()
    for (const [id, fraction] of ['000000', '000001', '999999'].entries())
      sandbox.store.put(101, 'notes', { id, updated_at: `2026-01-01T10:00:00.${fraction}Z` })
    const reply = await shop(sandbox, `notes?updated_after=${text}`)
    expect(ids(reply)).toEqual([2, 1])
    expect(reply.body.total_count).toBe(2)
  })

  it('is strict to the microsecond', async () => {
    const sandbox = await emptySandbox()
    for (let id = 0; id < 5; id += 1)
      sandbox.store.put(101, 'notes', { id, updated_at: `2026-01-01T10:00:00.00000${id}Z` })
    for (let id = 0; id < 5; id += 1) {
      const reply = await shop(sandbox, `notes?updated_after=2026-01-01T10:00:00.00000${id}Z`)
      expect(ids(reply)).toEqual([4, 3, 2, 1, 0].filter((other) => other > id))
    }
  })

  it.each(['yesterday', '2026-01-01', '2026-01-01T10:00:00', '2026-13-01T10:00:00Z', '2026-02-30T10:00:00Z'])(
    'rejects %s with 422',
    async (text) => {
      const sandbox = await emptySandbox()
      expect((await shop(sandbox, `notes?updated_after=${text}`)).status).toBe(422)
    },
  )

  it('filters by true microseconds at whatever precision is printed', async () => {
    const sandbox = await emptySandbox({ timestamps: { digits: 0, offset: '+02:00' } })
    sandbox.store.put(101, 'notes', {
      id: 1,
      updated_at: '2026-01-01T23:00:00.700000Z',
      services: [{ completed_at: '2026-01-01T00:00:00.9Z' }],
    })
    const { body } = await shop(sandbox, 'notes?updated_after=2026-01-01T23:00:00.699999Z')
    expect(body.results).toEqual([
      {
        id: 1,
        updated_at: '2026-01-02T01:00:00+02:00',
        services: [{ completed_at: '2026-01-01T02:00:00+02:00' }],
      },
    ])
    expect(sandbox.store.all(101, 'notes')).toEqual(body.results)
    expect((await shop(sandbox, 'notes?updated_after=2026-01-01T23:00:00.7Z')).body.total_count).toBe(0)
  })
})

describe('filters', () => {
  it('finds appointments by time, shop, and the customer and vehicle of their repair order', async () => {
    const sandbox = await emptySandbox()
    const { store } = sandbox
    store.put(101, 'repair_orders', {
      id: 70,
      updated_at: '2026-01-01T00:00:00Z',
      customer_id: 5,
      vehicle_id: 6,
    })
    for (const [id, hour] of [9, 10, 11].entries())
      store.put(101, 'appointments', {
        id,
        updated_at: `2026-01-0${id + 1}T00:00:00Z`,
        start_at: `2026-02-01T${String(hour).padStart(2, '0')}:00:00Z`,
        end_at: `2026-02-01T${hour + 1}:00:00Z`,
        shop_id: id % 2,
        repair_order_id: id === 1 ? 70 : null,
      })
    const found = async (query: string) => ids(await shop(sandbox, `appointments?${EPOCH}&${query}`))
    expect(await found('start_after=2026-02-01T09:00:00Z')).toEqual([2, 1])
    expect(await found('end_before=2026-02-01T12:00:00Z')).toEqual([1, 0])
    expect(await found('shop_id=0')).toEqual([2, 0])
    expect(await found('customer_id=5')).toEqual([1])
    expect(await found('vehicle_id=6')).toEqual([1])
    expect(await found('vehicle_id=7')).toEqual([])
    expect(await found('shop_id=0&start_after=2026-02-01T09:30:00Z')).toEqual([2])
  })

  it('finds customers by parts of name and email, notes by repair order, past recommendations by done', async () => {
    const sandbox = await emptySandbox()
    putNotes(sandbox, 9)
    for (const [id, name] of ['Miller', 'Mills', 'Smith'].entries())
      sandbox.store.put(101, 'customers', {
        id,
        updated_at: '2026-01-01T00:00:00Z',
        last_name: name,
        email: `${name}@example.com`,
      })
    for (const id of [1, 2, 3])
      sandbox.store.put(101, 'past_recommendations', {
        id,
        updated_at: '2026-01-01T00:00:00Z',
        done: id === 2,
      })
    expect(ids(await shop(sandbox, 'customers?last_name=Mill')).sort()).toEqual([0, 1])
    expect(ids(await shop(sandbox, 'customers?last_name=Mill&email=ller@'))).toEqual([0])
    const notes = await shop(sandbox, `notes?repair_order_id=2&${EPOCH}&per_page=2`)
    expect(ids(notes)).toEqual([8, 5])
    expect(notes.body).toMatchObject({ total_count: 3, total_pages: 2 })
    expect(ids(await shop(sandbox, 'past_recommendations?done=true'))).toEqual([2])
    expect(ids(await shop(sandbox, 'past_recommendations?done=false')).sort()).toEqual([1, 3])
    expect((await shop(sandbox, 'past_recommendations?done=maybe')).status).toBe(422)
  })
})

describe('headers', () => {
  it('include the documented ones in every response', async () => {
    const sandbox = await emptySandbox({ rate: { limit: 50, window: 10 } })
    const first = await shop(sandbox, 'notes')
    expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(first.headers.get('cache-control')).toBe('private, no-store')
    expect(first.headers.get('date')).toBe('Mon, 02 Mar 2026 12:00:00 GMT')
    expect(Number(first.headers.get('x-runtime'))).toBeGreaterThan(0)
    expect(first.headers.get('x-ratelimit-matchkey')).toBe('42')
    const second = await shop(sandbox, 'nothing')
    expect(second.headers.get('x-ratelimit-remaining')).toBe('48')
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  })

  it('return 304 for the ETag of unchanged content', async () => {
    const sandbox = await emptySandbox()
    const tag = (await shop(sandbox, 'notes')).headers.get('etag')!
    expect((await shop(sandbox, 'notes', { headers: { 'If-None-Match': tag } })).status).toBe(304)
    putNotes(sandbox, 1)
    expect((await shop(sandbox, 'notes', { headers: { 'If-None-Match': tag } })).status).toBe(200)
  })

  it('compress only if configured and accepted by the client', async () => {
    const sandbox = await emptySandbox({ gzip: true })
    putNotes(sandbox, 3)
    const zipped = await shop(sandbox, `notes?${EPOCH}`, { headers: { 'Accept-Encoding': 'gzip' } })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(ids(zipped)).toEqual([3, 2, 1])
    const plain = await shop(sandbox, 'notes', { headers: { 'Accept-Encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
  })
})
