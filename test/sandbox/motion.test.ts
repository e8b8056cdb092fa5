import { describe, expect, it } from 'vitest'
import { type Motion, type Rule, type Sandbox, template } from '../../src/sandbox/index.js'
import { EPOCH, emptySandbox, ids, putNotes, request, shop } from '../support/harness/requests.js'

async function moving(
  before: Motion | Motion[],
  rule: Omit<Rule, 'before'> = { when: { nth: 1 } },
  count = 20,
): Promise<Sandbox> {
  const sandbox = await emptySandbox({ tenants: 2, script: [{ ...rule, before }] })
  putNotes(sandbox, count)
  return sandbox
}

const page = (sandbox: Sandbox, number: number, size = 5) =>
  shop(sandbox, `notes?${EPOCH}&per_page=${size}&page=${number}`)
const range = (from: number, to: number) =>
  Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + Math.sign(to - from) * i)

describe('motion', () => {
  it('creates records at the front, or at an age in the past', async () => {
    const sandbox = await moving({ kind: 'create', n: 2 })
    expect(ids(await page(sandbox, 1))).toEqual([22, 21, 20, 19, 18])
    const aged = await moving({ kind: 'create', agedMs: 61 * 24 * 3600 * 1000 })
    expect(ids(await page(aged, 3, 10))).toEqual([21])
  })

  it('creates complete records in an empty resource, with their own nested ids', async () => {
    const sandbox = await emptySandbox({
      script: [{ when: { nth: 1 }, before: { kind: 'create', resource: 'repair_orders', n: 3 } }],
    })
    await shop(sandbox, 'notes')
    const orders = sandbox.store.all(101, 'repair_orders')
    expect(orders.map(({ id }) => id)).toEqual([3, 2, 1])
    const services = orders.map(
      (order) => (order['services'] as { id: number; parts: { id: number }[] }[])[0]!,
    )
    expect(new Set(services.map(({ id }) => id)).size).toBe(3)
    expect(new Set(services.map(({ parts }) => parts[0]!.id)).size).toBe(3)
    expect(Object.keys(orders[0]!).sort()).toEqual(Object.keys(template('repair_orders', 1, '')).sort())
  })

  it('updates by id, by rank and at random, each with its own stamp', async () => {
    const sandbox = await moving({ kind: 'update', ids: [3], ranks: [19] })
    expect(ids(await page(sandbox, 1))).toEqual([1, 3, 20, 19, 18])
    expect(sandbox.store.get(101, 'notes', 3)).toMatchObject({ description: 'note 3 (rev 1)' })
    const random = await moving({ kind: 'update', random: 4 })
    const { body } = await page(random, 1)
    const stamps = body.results.filter(({ updated_at: at }: { updated_at: string }) => at > '2026-02')
    expect(new Set(stamps.map(({ updated_at: at }: { updated_at: string }) => at)).size).toBe(4)
  })

  it('deletes ahead of the requested page, and behind it', async () => {
    const ahead = await moving({ kind: 'delete', ahead: 2 }, { when: { page: 2 }, times: 1 })
    await page(ahead, 1)
    expect(ids(await page(ahead, 2))).toEqual(range(15, 11))
    expect(ids(await page(ahead, 3))).toEqual([8, 7, 6, 5, 4])
    const behind = await moving({ kind: 'delete', behind: 2 }, { when: { page: 2 }, times: 1 })
    await page(behind, 1)
    expect(ids(await page(behind, 2))).toEqual(range(13, 9))
  })

  it('moves after the response was made if the rule says so', async () => {
    const sandbox = await emptySandbox({
      script: [{ when: { nth: 1 }, after: { kind: 'delete', ids: [20] } }],
    })
    putNotes(sandbox, 20)
    expect(ids(await page(sandbox, 1))[0]).toBe(20)
    expect(ids(await page(sandbox, 1))[0]).toBe(19)
  })

  it('touches many with a single updated_at', async () => {
    const sandbox = await moving({ kind: 'touch', ids: range(1, 12) })
    const { body } = await page(sandbox, 1, 12)
    expect(new Set(body.results.map(({ updated_at: at }: { updated_at: string }) => at)).size).toBe(1)
    expect(ids({ body } as never).sort((a, b) => a - b)).toEqual(range(1, 12))
  })

  it('restores what was deleted, with a new stamp or as it was', async () => {
    const sandbox = await moving([{ kind: 'delete', ids: [7, 8] }, { kind: 'restore' }])
    expect(ids(await page(sandbox, 1, 100))).toEqual([8, ...range(20, 9), ...range(6, 1)])
    sandbox.script([{ before: { kind: 'restore', stamp: false } }])
    expect(ids(await page(sandbox, 1, 100))).toEqual([8, ...range(20, 9), 7, ...range(6, 1)])
  })

  it('commits late: stamped now, visible only after later records', async () => {
    const sandbox = await emptySandbox({
      script: [
        { when: { nth: 1 }, before: { kind: 'late', hold: 2 } },
        { when: { nth: 2 }, before: { kind: 'create' } },
      ],
    })
    putNotes(sandbox, 3)
    const seen = []
    for (let i = 0; i < 3; i += 1) seen.push(ids(await page(sandbox, 1)))
    expect(seen[0]).toEqual([3, 2, 1])
    expect(seen[1]).toEqual([4, 3, 2, 1])
    expect(seen[2]).toEqual([4, 5, 3, 2, 1])
  })

  it('shuffles ties from response to response, and only ties', async () => {
    const sandbox = await moving({ kind: 'shuffle' }, { when: { nth: 1 } }, 3)
    for (const id of range(101, 150))
      sandbox.store.put(101, 'notes', { id, updated_at: '2026-02-01T00:00:00.000000Z' })
    const orders = []
    for (let i = 0; i < 4; i += 1) orders.push(ids(await page(sandbox, 1, 100)))
    for (const order of orders) {
      expect(order.slice(50)).toEqual([3, 2, 1])
      expect([...order.slice(0, 50)].sort()).toEqual(range(101, 150))
    }
    expect(new Set(orders.map(String)).size).toBe(4)
    const part = async () =>
      ids(await shop(sandbox, 'notes?updated_after=2026-01-31T00:00:00Z&per_page=10&page=3'))
    const parts = [await part(), await part(), await part()]
    for (const found of parts) expect(new Set(found).size).toBe(10)
    // Records move from page to page: any of the fifty may come, newer or older in the store than this page.
    const [lowest, highest] = [Math.min(...parts.flat()), Math.max(...parts.flat())]
    expect([lowest < 121, highest > 130]).toEqual([true, true])
  })

  it('revokes and grants tenants, switches resources off and on', async () => {
    const sandbox = await emptySandbox({
      tenants: 2,
      script: [
        {
          when: { nth: 1 },
          before: [
            { kind: 'revoke', tenant: 102 },
            { kind: 'off', resource: 'vehicles' },
          ],
        },
        {
          when: { nth: 4 },
          before: [
            { kind: 'grant', tenant: 102, writable: false },
            { kind: 'on', resource: 'vehicles' },
          ],
        },
      ],
    })
    const statuses = []
    for (const path of ['101/notes', '102/notes', '101/vehicles', '101/notes', '102/notes', '101/vehicles'])
      statuses.push((await request(sandbox, `/api/v1/tenants/${path}`)).status)
    expect(statuses).toEqual([200, 404, 404, 200, 200, 200])
    expect(sandbox.store.tenant(102).writable).toBe(false)
  })

  it('uses up the rate limit like another consumer', async () => {
    const sandbox = await emptySandbox({
      rate: { limit: 10 },
      script: [{ before: { kind: 'consume', requests: 4 } }],
    })
    const left = async () => (await shop(sandbox, 'notes')).headers.get('x-ratelimit-remaining')
    expect([await left(), await left(), await left()]).toEqual(['5', '0', '0'])
  })

  it('lets the shops work', async () => {
    const sandbox = await moving({ kind: 'work', n: 3, tenant: 101 })
    const { body } = await page(sandbox, 1, 100)
    expect(JSON.stringify(body)).toContain('(rev ')
  })
})

describe('the programmatic side', () => {
  it('calls hooks before each request is answered, with what it requests', async () => {
    const sandbox = await emptySandbox()
    putNotes(sandbox, 10)
    const seen: unknown[] = []
    const stop = sandbox.onRequest(
      async ({ n, tenant, resource, page: number, perPage, updatedAfter, method }) => {
        await Promise.resolve()
        seen.push([n, tenant, resource, number, perPage, updatedAfter, method])
        sandbox.store.remove(101, 'notes', 10)
      },
    )
    expect(ids(await page(sandbox, 1))).toEqual([9, 8, 7, 6, 5])
    stop()
    await page(sandbox, 2)
    expect(seen).toEqual([[1, 101, 'notes', 1, 5, '1970-01-01T00:00:00Z', 'GET']])
  })

  it('keeps a log of requests that can be reset', async () => {
    const sandbox = await emptySandbox({ script: [{ when: { page: 2 }, fault: { kind: 'drop' } }] })
    await page(sandbox, 1)
    await page(sandbox, 2).catch(() => undefined)
    expect(sandbox.requests).toMatchObject([
      {
        method: 'GET',
        tenant: 101,
        resource: 'notes',
        page: 1,
        per_page: 5,
        updated_after: '1970-01-01T00:00:00Z',
        status: 200,
        time: '2026-03-02T12:00:00.000000Z',
      },
      { page: 2, status: null },
    ])
    sandbox.resetRequests()
    expect(sandbox.requests).toEqual([])
  })

  it('stores exactly what is put, including integers beyond 2^53', async () => {
    const { store } = await emptySandbox()
    const record = {
      id: 1,
      updated_at: '2026-01-01T02:00:00.123456+02:00',
      name: 'a"\\\u0000\ud800',
      big: 2n ** 70n,
    }
    store.put(101, 'notes', record)
    expect(store.get(101, 'notes', 1)).toEqual({ ...record, big: Number(2n ** 70n) })
    expect(store.collection(101, 'notes').get(1)!.text).toContain(`"big":${2n ** 70n}`)
    store.put(101, 'notes', { id: null, name: 'no id' }, { key: 5, at: '2026-01-02T00:00:00Z' })
    expect(store.get(101, 'notes', 5)).toEqual({ id: null, name: 'no id' })
    expect(store.all(101, 'notes')).toHaveLength(2)
    expect(() => store.put(999, 'notes', record)).toThrow('addTenant')
    expect(() => store.put(101, 'widgets', record)).toThrow('register')
  })

  it('starts empty in a few milliseconds, and again after a reset', async () => {
    const sandbox = await emptySandbox()
    putNotes(sandbox, 3)
    sandbox.store.register('widgets')
    sandbox.reset()
    expect(sandbox.tenantIds).toEqual([])
    expect((await shop(sandbox, 'notes')).status).toBe(404)
    sandbox.store.addTenant({ id: 101 })
    expect((await shop(sandbox, 'notes')).body.total_count).toBe(0)
  })

  it('goes down and comes up at the same address', async () => {
    const sandbox = await emptySandbox()
    await page(sandbox, 1)
    await sandbox.down()
    await expect(page(sandbox, 1)).rejects.toThrow()
    await sandbox.up()
    expect((await page(sandbox, 1)).status).toBe(200)
    await sandbox.down()
  })
})

describe('odd lists', () => {
  it.each([
    ['oldest', [1, 2, 3, 4, 5]],
    ['id', [1, 2, 3, 4, 5]],
    ['seconds', [20, 19, 18, 17, 16]],
    ['newest', [20, 19, 18, 17, 16]],
  ] as const)('come %s first', async (by, expected) => {
    const sandbox = await moving({ kind: 'order', by })
    expect(ids(await page(sandbox, 1))).toEqual(expected)
  })

  it('in the order of whole seconds, records of one second come by id', async () => {
    const sandbox = await moving({ kind: 'order', by: 'seconds' }, undefined, 3)
    sandbox.store.put(101, 'notes', template('notes', 30, '2026-02-01T00:00:00.900000Z'))
    sandbox.store.put(101, 'notes', template('notes', 31, '2026-02-01T00:00:00.100000Z'))
    sandbox.store.put(101, 'notes', template('notes', 29, '2026-02-01T00:00:00.500000Z'))
    expect(ids(await page(sandbox, 1))).toEqual([29, 30, 31, 3, 2])
  })

  it('show a record twice, and count it twice', async () => {
    const sandbox = await moving({ kind: 'twice', ids: [20], apart: 6 })
    const first = await page(sandbox, 1)
    expect([ids(first), first.body.total_count]).toEqual([range(20, 16), 21])
    expect(ids(await page(sandbox, 2))).toEqual([15, 20, 14, 13, 12])
  })

  it('count a record that no page shows, and show it by id', async () => {
    const sandbox = await moving({ kind: 'hide', ids: [18] })
    const first = await page(sandbox, 1)
    expect([ids(first), first.body.total_count]).toEqual([[20, 19, 17, 16], 20])
    expect((await shop(sandbox, 'notes/18')).status).toBe(200)
  })

  it('return 500 where they would show a poisonous record, until it is healed', async () => {
    const sandbox = await moving({ kind: 'poison', ranks: [7] })
    expect((await page(sandbox, 1)).status).toBe(200)
    expect((await page(sandbox, 2)).status).toBe(500)
    expect((await page(sandbox, 7, 1)).status).toBe(200)
    expect((await shop(sandbox, 'notes/13')).status).toBe(500)
    sandbox.script([{ when: { nth: 1 }, before: { kind: 'heal' } }])
    expect((await page(sandbox, 2)).status).toBe(200)
  })

  it('cap their total, or send none', async () => {
    const sandbox = await moving([])
    sandbox.script([{ fault: { kind: 'total', most: 12 } }])
    expect((await page(sandbox, 4)).body).toMatchObject({ total_count: 12, total_pages: 3, limit: 5 })
    sandbox.script([{ fault: { kind: 'total', remove: true } }])
    expect(Object.keys((await page(sandbox, 1)).body)).not.toContain('total_count')
  })

  it('are as a restored backup leaves them', async () => {
    const sandbox = await moving({ kind: 'backup' })
    await page(sandbox, 1)
    const kept = sandbox.store.get(101, 'notes', 3)
    sandbox.store.change(101, 'notes', 3, { description: 'later' })
    sandbox.store.remove(101, 'notes', 4)
    sandbox.script([{ when: { nth: 1 }, before: [{ kind: 'create' }, { kind: 'rewind' }] }])
    expect((await page(sandbox, 1)).body.total_count).toBe(20)
    expect(sandbox.store.get(101, 'notes', 3)).toEqual(kept)
    expect(ids(await page(sandbox, 4))).toEqual(range(5, 1))
  })
})
