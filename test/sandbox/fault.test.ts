import { describe, expect, it } from 'vitest'
import { type Fault, type Rule, type Sandbox, serviceTemplate, template } from '../../src/sandbox/index.js'
import { EPOCH, emptySandbox, ids, putNotes, request, shop } from '../support/harness/requests.js'

async function withFault(fault: Fault | Fault[], rule: Omit<Rule, 'fault'> = {}): Promise<Sandbox> {
  const sandbox = await emptySandbox({ script: [{ ...rule, fault }] })
  putNotes(sandbox, 250)
  return sandbox
}

const list = (sandbox: Sandbox, page = 1) => shop(sandbox, `notes?${EPOCH}&per_page=100&page=${page}`)
/** A repair order with one service that has two parts. */
function order(sandbox: Sandbox): void {
  const time = '2026-01-01T00:00:00.000000Z'
  const own = serviceTemplate(10, time)
  const [part] = own['parts'] as object[]
  const service = { ...own, parts: [part, { ...part, id: 101 }] }
  sandbox.store.put(101, 'repair_orders', { ...template('repair_orders', 1, time), services: [service] })
}
const orders = async (...faults: readonly Fault[]) => {
  const sandbox = await emptySandbox({ script: faults.map((fault) => ({ fault })) })
  order(sandbox)
  const text = await (
    await fetch(`${sandbox.url}/api/v1/tenants/101/repair_orders?${EPOCH}`, {
      headers: { 'X-Api-Partner-Id': '42', 'X-Api-Secret': 'sandbox-secret' },
    })
  ).text()
  return { text, records: JSON.parse(text).results }
}

describe('faults on the wire', () => {
  it.each([
    [{ kind: 'drop' }],
    [{ kind: 'reset' }],
    [{ kind: 'reset', bytes: 40 }],
    [{ kind: 'cut', fraction: 0.5 }],
    [{ kind: 'length', by: 10 }],
  ] as const)('%j makes the request fail', async (fault) => {
    await expect(list(await withFault(fault))).rejects.toThrow()
  })

  it('a declared length that is too short cuts off the JSON', async () => {
    const { body } = await list(await withFault({ kind: 'length', by: -10 })).catch(() => ({
      body: 'broken',
    }))
    expect(typeof body).toBe('string')
  })

  it.each(['headers', 'body'] as const)('stalls in the %s until the client leaves', async (part) => {
    const sandbox = await withFault({ kind: 'stall', part })
    const response = fetch(`${sandbox.url}/api/v1/tenants/101/notes`, {
      signal: AbortSignal.timeout(50),
    }).then((r) => r.text())
    await expect(response).rejects.toThrow()
  })

  it('answers completely after a stall of a few milliseconds', async () => {
    for (const part of ['headers', 'body'] as const)
      expect(ids(await list(await withFault({ kind: 'stall', ms: 5, part })))).toHaveLength(100)
  })

  it('closes immediately while a client waits for a stalled response', async () => {
    const sandbox = await withFault({ kind: 'stall' })
    const waiting = expect(list(sandbox)).rejects.toThrow()
    while (sandbox.requests.length === 0) await new Promise(setImmediate)
    await sandbox.close()
    await waiting
  })

  it('trickles the whole body', async () => {
    expect(ids(await list(await withFault({ kind: 'trickle', bytes: 8000, ms: 1 })))).toHaveLength(100)
  })

  it('sends as huge a body as requested', async () => {
    const { body } = await list(await withFault({ kind: 'huge', bytes: 3_000_000 }))
    expect(body.padding.length).toBeGreaterThanOrEqual(3_000_000)
  })
})

describe('faults of the response', () => {
  it.each([500, 502, 503, 504, 401, 403, 404, 422, 429])('returns %i', async (status) => {
    expect((await list(await withFault({ kind: 'status', status }))).status).toBe(status)
  })

  it('sends Retry-After as seconds or as a date, with or without rate-limit headers', async () => {
    const seconds = await list(await withFault({ kind: 'status', status: 429, retryAfter: 7 }))
    expect([seconds.headers.get('retry-after'), seconds.headers.has('x-ratelimit-limit')]).toEqual([
      '7',
      true,
    ])
    const date = await list(
      await withFault({ kind: 'status', status: 503, retryAfterDate: 60, rateHeaders: false }),
    )
    expect(date.headers.get('retry-after')).toBe('Mon, 02 Mar 2026 12:01:00 GMT')
    expect(date.headers.has('x-ratelimit-remaining')).toBe(false)
  })

  it('sends HTML with status 200, text that is not JSON, and a redirect to another host', async () => {
    const html = await list(await withFault({ kind: 'html' }))
    expect([html.status, html.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(typeof (await list(await withFault({ kind: 'text' }))).body).toBe('string')
    const away = await list(await withFault({ kind: 'redirect', to: 'http://other.example/' }))
    expect([away.status, away.headers.get('location')]).toEqual([302, 'http://other.example/'])
  })

  it('sends gzip that is garbage, or valid at its start and cut off', async () => {
    await expect(list(await withFault({ kind: 'gzip' }))).rejects.toThrow()
    const sandbox = await withFault({ kind: 'gzip', how: 'truncated' })
    // Node's fetch returns what it could inflate and doesn't complain that the end is missing.
    const cut = await list(sandbox)
    expect([cut.headers.get('content-encoding'), typeof cut.body]).toEqual(['gzip', 'string'])
  })

  it('answers page 3 with page 2, and admits it or not', async () => {
    const served = await list(await withFault({ kind: 'page', page: 'previous' }), 3)
    expect([served.body.current_page, ids(served)[0]]).toEqual([2, 150])
    const asked = await list(await withFault({ kind: 'page', page: 2, claim: 'asked' }), 3)
    expect([asked.body.current_page, ids(asked)[0]]).toEqual([3, 150])
  })

  it('shows an empty list instead of thousands, or a wrong total', async () => {
    expect((await list(await withFault({ kind: 'empty' }))).body).toMatchObject({
      results: [],
      total_count: 0,
    })
    expect((await list(await withFault({ kind: 'total', by: -3 }))).body).toMatchObject({
      total_count: 247,
      limit: 100,
    })
    expect((await list(await withFault({ kind: 'total', to: 9 }))).body.total_count).toBe(9)
  })

  it('counts the records of the page, anything at all, or the wrong number of pages', async () => {
    const totals = async (fault: Fault) => {
      const { body } = await list(await withFault(fault), 3)
      return [body.total_count, body.total_pages]
    }
    expect(await totals({ kind: 'total', page: true })).toEqual([50, 3])
    expect(await totals({ kind: 'total', as: 'many' })).toEqual(['many', 3])
    expect(await totals({ kind: 'pages', by: -1 })).toEqual([250, 2])
    expect(await totals({ kind: 'pages', to: -1 })).toEqual([250, -1])
    expect(await totals({ kind: 'pages', floor: true })).toEqual([250, 2])
    expect(await totals({ kind: 'pages', remove: true })).toEqual([250, undefined])
  })

  it('serves pages of a different size than requested, and something past the end', async () => {
    const pages = async (fault: Omit<Extract<Fault, { kind: 'paging' }>, 'kind'>, page: number) => {
      const { status, body } = await list(await withFault({ kind: 'paging', ...fault }), page)
      const shown = status === 200 ? body.results.map((record: { id: number }) => record.id) : []
      return [status, shown.length, shown[0], body.current_page, body.total_pages]
    }
    expect(await pages({ most: 40 }, 2)).toEqual([200, 40, 210, 2, 7])
    expect(await pages({ most: 40, pages: 'asked' }, 2)).toEqual([200, 40, 210, 2, 3])
    expect(await pages({ most: 40, offset: 'asked' }, 2)).toEqual([200, 40, 150, 2, 7])
    expect(await pages({ most: 400 }, 2)).toEqual([200, 100, 150, 2, 3])
    expect(await pages({ exact: 120 }, 2)).toEqual([200, 120, 130, 2, 3])
    expect(await pages({ most: 40 }, 8)).toEqual([200, 0, undefined, 8, 7])
    expect(await pages({ most: 40, beyond: 'last' }, 8)).toEqual([200, 10, 10, 8, 7])
    expect(await pages({ most: 40, beyond: 'last', claim: 'served' }, 8)).toEqual([200, 10, 10, 7, 7])
    expect((await pages({ most: 40, beyond: 'refused' }, 8))[0]).toBe(404)
    expect((await pages({ most: 40, beyond: 'refused' }, 7))[0]).toBe(200)
  })

  it('skews the Date, and removes or changes any header', async () => {
    expect((await list(await withFault({ kind: 'skew', seconds: -7200 }))).headers.get('date')).toBe(
      'Mon, 02 Mar 2026 10:00:00 GMT',
    )
    expect(
      (await list(await withFault({ kind: 'rate', remove: true }))).headers.has('x-ratelimit-reset'),
    ).toBe(false)
    expect(
      (await list(await withFault({ kind: 'rate', remaining: 3 }))).headers.get('x-ratelimit-remaining'),
    ).toBe('3')
    const set = await list(await withFault({ kind: 'headers', set: { ETag: null, 'X-New': '1' } }))
    expect([set.headers.has('etag'), set.headers.get('x-new')]).toEqual([false, '1'])
  })

  it('adds unknown fields, nested too, and unknown values of enumerations', async () => {
    const { records } = await orders({ kind: 'fields', name: 'novelty', value: { a: 1 }, nested: true })
    expect(records[0].novelty).toEqual({ a: 1 })
    expect(records[0].services[0].parts[0].novelty).toEqual({ a: 1 })
    const enums = await orders({ kind: 'enums', value: 'purple' })
    expect(enums.records[0].preferred_contact_type).toBe('purple')
    expect(enums.records[0].services[0].inspections[0].state).toBe('purple')
  })

  it('alters what a path points to', async () => {
    const path = 'services[*].labors[0].hours'
    expect(
      (await orders({ kind: 'alter', path, to: null })).records[0].services[0].labors[0].hours,
    ).toBeNull()
    expect(
      'hours' in (await orders({ kind: 'alter', path, remove: true })).records[0].services[0].labors[0],
    ).toBe(false)
    expect((await orders({ kind: 'alter', path, raw: '18446744073709551616' })).text).toContain(
      '"hours":18446744073709551616',
    )
  })

  it('keeps literal JSON as the script has it, whatever alters the response afterwards', async () => {
    const path = 'services[*].labors[0].hours'
    for (const raw of ['18446744073709551616', '1.10', '1e400', '-0']) {
      const { text } = await orders(
        { kind: 'alter', path, raw },
        { kind: 'alter', path: 'number', to: 'say "18446744073709551616" \\ 1.10' },
        { kind: 'fields', name: 'novelty', value: 1 },
      )
      expect(text).toContain(`"hours":${raw}`)
      expect(text).toContain('"say \\"18446744073709551616\\" \\\\ 1.10"')
      expect(text).toContain('"novelty":1')
    }
  })

  it('corrupts records in every way that it lists', async () => {
    const first = async (how: Extract<Fault, { kind: 'corrupt' }>['how']) =>
      await orders({ kind: 'corrupt', how })
    const service = async (how: Parameters<typeof first>[0]) => (await first(how)).records[0].services[0]
    expect((await first('strings-for-numbers')).records[0]).toMatchObject({
      id: '1',
      supply_fee_cents: '100',
    })
    expect((await first('integer-beyond-53')).text).toContain('"id":9007199254740995')
    expect((await first('integer-beyond-64')).text).toContain('"id":18446744073709551619')
    expect((await first('null-ids')).records[0].id).toBeNull()
    expect('updated_at' in (await first('missing-updated-at')).records[0]).toBe(false)
    expect((await first('null-arrays')).records[0].services).toBeNull()
    expect('services' in (await first('missing-arrays')).records[0]).toBe(false)
    expect((await first('object-arrays')).records[0].payments).toEqual({ unexpected: 'object' })
    expect((await first('duplicate-ids')).records.map(({ id }: { id: number }) => id)).toEqual([1, 1])
    expect((await service('nul-character')).title).toBe('title 10\u0000')
    expect((await service('lone-surrogate')).title).toBe('title 10\ud800')
    expect((await service('duplicate-child-ids')).parts.map(({ id }: { id: number }) => id)).toEqual([
      100, 100,
    ])
  })

  it('changes only the chosen records', async () => {
    const { body } = await list(await withFault({ kind: 'corrupt', how: 'null-ids', records: [1] }))
    expect(body.results.slice(0, 3).map(({ id }: { id: number }) => id)).toEqual([250, null, 248])
    const first = await list(await withFault({ kind: 'corrupt', how: 'null-ids', records: { first: 2 } }))
    expect(first.body.results.slice(0, 3).map(({ id }: { id: number }) => id)).toEqual([null, null, 248])
  })
})

describe('when a rule fires', () => {
  const status = { kind: 'status', status: 500 } as const
  const statuses = async (rule: Rule, count: number): Promise<number[]> => {
    const sandbox = await withFault(status, rule)
    const found = []
    for (let i = 0; i < count; i += 1) found.push((await shop(sandbox, 'notes')).status)
    return found
  }

  it('counts the requests that it matches', async () => {
    expect(await statuses({ when: { nth: 2 } }, 3)).toEqual([200, 500, 200])
    expect(await statuses({ when: { nth: [1, 3] } }, 3)).toEqual([500, 200, 500])
    expect(await statuses({ when: { every: 2 } }, 4)).toEqual([200, 500, 200, 500])
    expect(await statuses({ when: { from: 2, to: 3 } }, 4)).toEqual([200, 500, 500, 200])
    expect(await statuses({ times: 1 }, 2)).toEqual([500, 200])
  })

  it('fires at random, the same with the same seed', async () => {
    const first = await statuses({ when: { probability: 0.5, seed: 3 } }, 20)
    expect(new Set(first).size).toBe(2)
    expect(await statuses({ when: { probability: 0.5, seed: 3 } }, 20)).toEqual(first)
    expect(await statuses({ when: { probability: 0.5, seed: 4 } }, 20)).not.toEqual(first)
  })

  it('matches tenant, resource, page, size, kind, id and method', async () => {
    const matches = async (when: Rule['when'], path: string) => {
      const sandbox = await withFault(status, { when: when! })
      return (await request(sandbox, `/api/v1/tenants/101/${path}`)).status === 500
    }
    expect(
      await matches(
        { tenant: 101, resource: ['notes', 'shops'], page: 2, perPage: 50 },
        'notes?page=2&per_page=50',
      ),
    ).toBe(true)
    expect(await matches({ page: 1 }, 'notes')).toBe(true)
    expect(await matches({ page: 2 }, 'notes')).toBe(false)
    expect(await matches({ tenant: [102] }, 'notes')).toBe(false)
    expect(await matches({ resource: 'shops' }, 'notes')).toBe(false)
    expect(await matches({ kind: 'item' }, 'notes/1')).toBe(true)
    expect(await matches({ kind: 'item' }, 'notes')).toBe(false)
    expect(await matches({ id: 2 }, 'notes/1')).toBe(false)
    expect(await matches({ method: 'post' }, 'notes')).toBe(false)
    expect(await matches({ resource: 'customer_payment_types' }, 'payments/customer_payment_types')).toBe(
      true,
    )
  })

  it.each([
    [{ rules: 5 }, 'rules must be an array of rules'],
    [[{ wenn: {} }], 'unknown key rules[0].wenn'],
    [[{ when: { pages: 3 } }], 'unknown key rules[0].when.pages'],
    [[{ when: { page: 'three' } }], 'rules[0].when.page must be a whole number of at least 1'],
    [[{ fault: { kind: 'flood' } }], 'rules[0].fault.kind must be one of drop'],
    [[{ fault: [{ kind: 'drop' }, { kind: 'status' }] }], 'rules[0].fault[1].status must be'],
    [[{ fault: { kind: 'stall', seconds: 3 } }], 'unknown key rules[0].fault.seconds'],
    [[{ before: { kind: 'delete', rank: 3 } }], 'unknown key rules[0].before.rank'],
    [[{ fault: { kind: 'corrupt', how: 'badly' } }], 'rules[0].fault.how must be one of strings-for-numbers'],
  ])('rejects the script %j and names the key', async (script, message) => {
    const sandbox = await emptySandbox()
    expect(() => sandbox.script(script as unknown as Rule[])).toThrow(message)
  })
})
