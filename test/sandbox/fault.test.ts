/** What each fault of a script does to an answer, and when a rule fires. Whoever syncs meets these faults elsewhere. */
import { describe, expect, it } from 'vitest'
import { type Fault, type Rule, type Sandbox, serviceTemplate, template } from '../../src/sandbox/index.js'
import { EPOCH, emptySandbox, ids, putNotes, type Reply, request, shop } from '../support/harness/requests.js'

/** 250 notes, and a repair order with one service that has two parts. */
async function withRules(...rules: readonly Rule[]): Promise<Sandbox> {
  const sandbox = await emptySandbox({ script: rules })
  putNotes(sandbox, 250)
  const time = '2026-01-01T00:00:00.000000Z'
  const own = serviceTemplate(10, time)
  const [part] = own['parts'] as object[]
  const services = [{ ...own, parts: [part, { ...part, id: 101 }] }]
  sandbox.store.put(101, 'repair_orders', { ...template('repair_orders', 1, time), services })
  return sandbox
}

const list = (sandbox: Sandbox, page = 1): Promise<Reply> =>
  shop(sandbox, `notes?${EPOCH}&per_page=100&page=${page}`)
const listed = async (fault: Fault, page = 1): Promise<Reply> => list(await withRules({ fault }), page)

describe('faults on the wire', () => {
  it.each<Fault>([
    { kind: 'drop' },
    { kind: 'reset' },
    { kind: 'reset', bytes: 40 },
    { kind: 'cut', fraction: 0.5 },
    { kind: 'length', by: 10 },
    { kind: 'gzip' },
  ])('%j makes the request fail', async (fault) => {
    await expect(listed(fault)).rejects.toThrow()
  })

  it('a stall lasts until the client leaves, as long as asked, or until the sandbox closes', async () => {
    for (const part of ['headers', 'body'] as const) {
      const sandbox = await withRules({ fault: { kind: 'stall', part } })
      const signal = AbortSignal.timeout(50)
      const response = fetch(`${sandbox.url}/api/v1/tenants/101/notes`, { signal }).then((r) => r.text())
      await expect(response).rejects.toThrow()
      expect(ids(await listed({ kind: 'stall', part, ms: 5 }))).toHaveLength(100)
    }
    const sandbox = await withRules({ fault: { kind: 'stall' } })
    const waiting = expect(list(sandbox)).rejects.toThrow()
    while (sandbox.requests.length === 0) await new Promise(setImmediate)
    await sandbox.close()
    await waiting
  })

  it('a body trickles in whole, is as huge as asked, or is no JSON', async () => {
    expect(ids(await listed({ kind: 'trickle', bytes: 8000, ms: 1 }))).toHaveLength(100)
    const { body } = await listed({ kind: 'huge', bytes: 3_000_000 })
    expect(body.padding.length).toBeGreaterThanOrEqual(3_000_000)
    const cut = await listed({ kind: 'length', by: -10 }).catch(() => ({ body: 'broken' }))
    // Node's fetch returns what it could inflate and doesn't complain that the end is missing.
    const others = [await listed({ kind: 'text' }), await listed({ kind: 'gzip', how: 'truncated' })]
    for (const reply of [cut, ...others]) expect(reply.body).toBeTypeOf('string')
  })
})

describe('faults of the response', () => {
  it.each<[Fault, status: number, headers: Record<string, string | null>]>([
    [{ kind: 'status', status: 500 }, 500, {}],
    [
      { kind: 'status', status: 429, retryAfter: 7 },
      429,
      { 'retry-after': '7', 'x-ratelimit-remaining': '999999' },
    ],
    [
      { kind: 'status', status: 503, retryAfterDate: 60 },
      503,
      { 'retry-after': 'Mon, 02 Mar 2026 12:01:00 GMT' },
    ],
    [{ kind: 'status', status: 503, rateHeaders: false }, 503, { 'x-ratelimit-remaining': null }],
    [{ kind: 'html' }, 200, { 'content-type': 'text/html; charset=utf-8' }],
    [{ kind: 'redirect', to: 'http://other.example/' }, 302, { location: 'http://other.example/' }],
    [{ kind: 'skew', seconds: -7200 }, 200, { date: 'Mon, 02 Mar 2026 10:00:00 GMT' }],
    [{ kind: 'rate', remove: true }, 200, { 'x-ratelimit-reset': null }],
    [{ kind: 'rate', remaining: 3 }, 200, { 'x-ratelimit-remaining': '3' }],
    [{ kind: 'headers', set: { ETag: null, 'X-New': '1' } }, 200, { etag: null, 'x-new': '1' }],
    [{ kind: 'gzip', how: 'truncated' }, 200, { 'content-encoding': 'gzip' }],
  ])('%j answers %i with %j', async (fault, status, headers) => {
    const reply = await listed(fault)
    const found = Object.keys(headers).map((name) => [name, reply.headers.get(name)])
    expect([reply.status, Object.fromEntries(found)]).toEqual([status, headers])
  })

  /** What page is asked for; the first id and the number of records that come; what else the answer says. */
  it.each<[Fault, page: number, first: number | undefined, count: number, says: object]>([
    [{ kind: 'page', page: 'previous' }, 3, 150, 100, { current_page: 2 }],
    [{ kind: 'page', page: 2, claim: 'asked' }, 3, 150, 100, { current_page: 3 }],
    [{ kind: 'empty' }, 1, undefined, 0, { total_count: 0 }],
    [{ kind: 'total', by: -3 }, 1, 250, 100, { total_count: 247, limit: 100 }],
    [{ kind: 'total', to: 9 }, 1, 250, 100, { total_count: 9 }],
    [{ kind: 'total', page: true }, 3, 50, 50, { total_count: 50, total_pages: 3 }],
    [{ kind: 'total', as: 'many' }, 3, 50, 50, { total_count: 'many', total_pages: 3 }],
    [{ kind: 'total', most: 120 }, 3, 50, 50, { total_count: 120, total_pages: 2, limit: 50 }],
    [{ kind: 'total', remove: true }, 3, 50, 50, { total_count: undefined, total_pages: undefined }],
    [{ kind: 'pages', by: -1 }, 3, 50, 50, { total_count: 250, total_pages: 2 }],
    [{ kind: 'pages', to: -1 }, 3, 50, 50, { total_pages: -1 }],
    [{ kind: 'pages', floor: true }, 3, 50, 50, { total_pages: 2 }],
    [{ kind: 'pages', remove: true }, 3, 50, 50, { total_pages: undefined }],
    [{ kind: 'paging', most: 40 }, 2, 210, 40, { current_page: 2, total_pages: 7 }],
    [{ kind: 'paging', most: 40, pages: 'asked' }, 2, 210, 40, { total_pages: 3 }],
    [{ kind: 'paging', most: 40, offset: 'asked' }, 2, 150, 40, { total_pages: 7 }],
    [{ kind: 'paging', most: 400 }, 2, 150, 100, { total_pages: 3 }],
    [{ kind: 'paging', exact: 120 }, 2, 130, 120, { total_pages: 3 }],
    [{ kind: 'paging', most: 40 }, 8, undefined, 0, { current_page: 8, total_pages: 7 }],
    [{ kind: 'paging', most: 40, beyond: 'last' }, 8, 10, 10, { current_page: 8 }],
    [{ kind: 'paging', most: 40, beyond: 'last', claim: 'served' }, 8, 10, 10, { current_page: 7 }],
    [{ kind: 'paging', most: 40, beyond: 'refused' }, 7, 10, 10, {}],
  ])('%j, page %i: from %i on, %i records, %j', async (fault, page, first, count, says) => {
    const reply = await listed(fault, page)
    expect([ids(reply)[0], ids(reply).length]).toEqual([first, count])
    const found = Object.keys(says).map((name) => [name, reply.body[name]])
    expect(Object.fromEntries(found)).toEqual(says)
  })

  it('refuses a page beyond the end', async () => {
    expect((await listed({ kind: 'paging', most: 40, beyond: 'refused' }, 8)).status).toBe(404)
  })

  it('changes only the chosen records', async () => {
    const first = async (records: readonly number[] | { first: number }) => {
      const { body } = await listed({ kind: 'corrupt', how: 'null-ids', records } as Fault)
      return body.results.slice(0, 3).map(({ id }: { id: number }) => id)
    }
    expect(await first([1])).toEqual([250, null, 248])
    expect(await first({ first: 2 })).toEqual([null, null, 248])
  })
})

describe('a record', () => {
  const path = 'services[*].labors[0].hours'
  const raw = (text: string): string =>
    `{"kind":"alter","path":"${path}","raw":"${text}"} {"kind":"alter","path":"number","to":"say \\"18446744073709551616\\" \\\\ 1.10"} {"kind":"fields","name":"novelty","value":1} → "say \\"18446744073709551616\\" \\\\ 1.10" … "hours":${text} … "novelty":1`

  /** The faults, what the text of the list then has, in this order, and what it no longer has. */
  const faults = `
{"kind":"fields","name":"novelty","value":{"a":1}} → "novelty":{"a":1}
{"kind":"fields","name":"novelty","value":1,"nested":true} → "parts":[{ … "novelty":1 … }] … "novelty":1
{"kind":"enums","value":"purple"} → "preferred_contact_type":"purple" … "inspections":[{ … "state":"purple"
{"kind":"alter","path":"${path}","to":null} → "hours":null
{"kind":"alter","path":"${path}","remove":true} → "labors":[{ ∌ "hours"
{"kind":"corrupt","how":"strings-for-numbers"} → "id":"1" … "supply_fee_cents":"100"
{"kind":"corrupt","how":"integer-beyond-53"} → "id":9007199254740995
{"kind":"corrupt","how":"integer-beyond-64"} → "id":18446744073709551619
{"kind":"corrupt","how":"null-ids"} → "results":[{"id":null
{"kind":"corrupt","how":"missing-updated-at"} → "results":[{"id":1,"created_at":"2026-01-01T00:00:00.000000Z","number"
{"kind":"corrupt","how":"null-arrays"} → "services":null
{"kind":"corrupt","how":"missing-arrays"} → "id":1 ∌ "services"
{"kind":"corrupt","how":"object-arrays"} → "payments":{"unexpected":"object"}
{"kind":"corrupt","how":"duplicate-ids"} → "results":[{"id":1, … },{"id":1,
{"kind":"corrupt","how":"nul-character"} → "title":"title 10\\u0000"
{"kind":"corrupt","how":"lone-surrogate"} → "title":"title 10\\ud800"
{"kind":"corrupt","how":"duplicate-child-ids"} → "parts":[{"id":100, … {"id":100, ∌ "id":101
`
  // Literal JSON stays as the script has it, whatever alters the response afterwards.
  const literals = ['18446744073709551616', '1.10', '1e400', '-0'].map(raw)

  it.each([...faults.trim().split('\n'), ...literals])('%s', async (line) => {
    const [given = '', shown = ''] = line.split(' → ')
    const [has = '', lacks = '"lacking"'] = shown.split(' ∌ ')
    const rules = given.split(/ (?=\{"kind")/).map((fault) => ({ fault: JSON.parse(fault) as Fault }))
    const sandbox = await withRules(...rules)
    const headers = { 'X-Api-Partner-Id': sandbox.partnerId, 'X-Api-Secret': sandbox.secret }
    const answer = await fetch(`${sandbox.url}/api/v1/tenants/101/repair_orders?${EPOCH}`, { headers })
    const text = await answer.text()
    let at = 0
    for (const part of has.split(' … ')) {
      expect(text.slice(at)).toContain(part)
      at = text.indexOf(part, at) + part.length
    }
    expect(text).not.toContain(lacks)
  })
})

describe('when a rule fires', () => {
  const fault: Fault = { kind: 'status', status: 500 }
  const statuses = async (rule: Rule, count: number): Promise<number[]> => {
    const sandbox = await withRules({ ...rule, fault })
    const found = []
    for (let i = 0; i < count; i += 1) found.push((await shop(sandbox, 'notes')).status)
    return found
  }

  it.each<[Rule, number[]]>([
    [{ when: { nth: 2 } }, [200, 500, 200]],
    [{ when: { nth: [1, 3] } }, [500, 200, 500]],
    [{ when: { every: 2 } }, [200, 500, 200, 500]],
    [{ when: { from: 2, to: 3 } }, [200, 500, 500, 200]],
    [{ times: 1 }, [500, 200]],
  ])('counts the requests that it matches: %j', async (rule, found) => {
    expect(await statuses(rule, found.length)).toEqual(found)
  })

  it('fires at random, the same with the same seed', async () => {
    const first = await statuses({ when: { probability: 0.5, seed: 3 } }, 20)
    expect(new Set(first).size).toBe(2)
    expect(await statuses({ when: { probability: 0.5, seed: 3 } }, 20)).toEqual(first)
    expect(await statuses({ when: { probability: 0.5, seed: 4 } }, 20)).not.toEqual(first)
  })

  it.each<[Rule['when'], path: string, fires: boolean]>([
    [{ tenant: 101, resource: ['notes', 'shops'], page: 2, perPage: 50 }, 'notes?page=2&per_page=50', true],
    [{ page: 1 }, 'notes', true],
    [{ page: 2 }, 'notes', false],
    [{ tenant: [102] }, 'notes', false],
    [{ resource: 'shops' }, 'notes', false],
    [{ kind: 'item' }, 'notes/1', true],
    [{ kind: 'item' }, 'notes', false],
    [{ id: 2 }, 'notes/1', false],
    [{ method: 'post' }, 'notes', false],
    [{ resource: 'customer_payment_types' }, 'payments/customer_payment_types', true],
  ])('%j for %s: %s', async (when, path, fires) => {
    const sandbox = await withRules({ when: when!, fault })
    expect((await request(sandbox, `/api/v1/tenants/101/${path}`)).status === 500).toBe(fires)
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
    [[{ when: { page: 1 }, event: { kind: 'drop' } }], 'unknown key rules[0].when.page'],
    [[{ when: { action: 'created' }, fault: { kind: 'drop' } }], 'unknown key rules[0].when.action'],
    [[{ when: { action: 'gone' }, event: { kind: 'drop' } }], 'rules[0].when.action must be one of created'],
    [[{ event: { kind: 'lose' } }], 'rules[0].event.kind must be one of drop, twice, delay, before'],
    [
      [{ event: { kind: 'drop' }, fault: { kind: 'drop' } }],
      'rules[0].fault must be in a rule without event',
    ],
  ])('rejects the script %j and names the key', async (script, message) => {
    const sandbox = await emptySandbox()
    expect(() => sandbox.script(script as unknown as Rule[])).toThrow(message)
  })
})
