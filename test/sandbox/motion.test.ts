/** What each motion of a script does to the lists, and what tests do with a sandbox in their process. */
import { describe, expect, it } from 'vitest'
import { type Motion, type Rule, type Sandbox, template } from '../../src/sandbox/index.js'
import { EPOCH, emptySandbox, ids, putNotes, type Reply, request, shop } from '../support/harness/requests.js'

const first: Rule['when'] = { nth: 1 }

async function moving(
  before: Motion | Motion[],
  rule: Omit<Rule, 'before'> = { when: first },
): Promise<Sandbox> {
  const sandbox = await emptySandbox({ tenants: 2, script: [{ ...rule, before }] })
  putNotes(sandbox, 20)
  return sandbox
}

const page = (sandbox: Sandbox, number = 1, size = 5): Promise<Reply> =>
  shop(sandbox, `notes?${EPOCH}&per_page=${size}&page=${number}`)
const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + Math.sign(to - from) * i)
const stampsOf = ({ body }: Reply): string[] =>
  body.results.map(({ updated_at }: { updated_at: string }) => updated_at)
const days = 24 * 3600 * 1000

describe('motion', () => {
  /** What moves before the first request, the page and its size, and the ids that it shows: `20-16` counts down. */
  const shown = `
{"kind":"create","n":2} 1 of 5 → 22-18
{"kind":"create","agedMs":${61 * days}} 3 of 10 → 21
{"kind":"update","ids":[3],"ranks":[19]} 1 of 5 → 1 3 20-18
{"kind":"delete","ids":[7,8]} {"kind":"restore"} 1 of 100 → 8 20-9 6-1
{"kind":"delete","ids":[7,8]} {"kind":"restore","stamp":false} 1 of 100 → 20-8 6-1
{"kind":"order","by":"oldest"} 1 of 5 → 1 2 3 4 5
{"kind":"order","by":"id"} 1 of 5 → 1 2 3 4 5
{"kind":"order","by":"seconds"} 1 of 5 → 20-16
{"kind":"order","by":"newest"} 1 of 5 → 20-16
{"kind":"twice","ids":[20],"apart":6} 1 of 5 → 20-16
{"kind":"twice","ids":[20],"apart":6} 2 of 5 → 15 20 14-12
{"kind":"hide","ids":[18]} 1 of 5 → 20 19 17 16
`
  it.each(shown.trim().split('\n'))('%s', async (line) => {
    const [, motions = '', number, size, expected = ''] = /^(.*) (\d+) of (\d+) → (.*)$/.exec(line) ?? []
    const sandbox = await moving(JSON.parse(`[${motions.replaceAll('} {', '},{')}]`) as Motion[])
    const spans = expected.split(' ').map((span) => span.split('-').map(Number))
    const wanted = spans.flatMap(([first = 0, last = first]) => range(first, last))
    expect(ids(await page(sandbox, Number(number), Number(size)))).toEqual(wanted)
  })

  it.each<[Motion, pages: number[][]]>([
    [{ kind: 'delete', ahead: 2 }, [range(20, 16), range(15, 11), [8, 7, 6, 5, 4]]],
    [{ kind: 'delete', behind: 2 }, [range(20, 16), range(13, 9), [8, 7, 6, 5, 4]]],
  ])('%j moves what is around the requested page', async (motion, pages) => {
    const sandbox = await moving(motion, { when: { page: 2 }, times: 1 })
    for (const [i, shown] of pages.entries()) expect(ids(await page(sandbox, i + 1))).toEqual(shown)
  })

  it('gives each change a stamp of its own, or many the same', async () => {
    const stamps = async (motion: Motion): Promise<number> =>
      new Set(stampsOf(await page(await moving(motion), 1, 12)).filter((at) => at > '2026-02')).size
    expect([
      await stamps({ kind: 'update', random: 4 }),
      await stamps({ kind: 'touch', ids: range(1, 12) }),
    ]).toEqual([4, 1])
  })

  it('counts what it shows twice, and what it hides: that can be read by id', async () => {
    expect((await page(await moving({ kind: 'twice', ids: [20] }))).body.total_count).toBe(21)
    const sandbox = await moving({ kind: 'hide', ids: [18] })
    expect((await page(sandbox)).body.total_count).toBe(20)
    expect((await shop(sandbox, 'notes/18')).status).toBe(200)
  })

  it('creates complete records in an empty resource, with their own nested ids', async () => {
    const sandbox = await moving({ kind: 'create', resource: 'repair_orders', n: 3 })
    await shop(sandbox, 'notes')
    const orders = sandbox.store.all(101, 'repair_orders')
    expect(orders.map(({ id }) => id)).toEqual([3, 2, 1])
    const services = orders.flatMap((order) => order['services'] as { id: number; parts: { id: number }[] }[])
    expect(new Set(services.map(({ id }) => id)).size).toBe(3)
    expect(new Set(services.flatMap(({ parts }) => parts.map(({ id }) => id))).size).toBe(3)
    expect(Object.keys(orders[0]!).sort()).toEqual(Object.keys(template('repair_orders', 1, '')).sort())
  })

  it('moves after the response was made if the rule says so', async () => {
    const sandbox = await moving([], { when: first, after: { kind: 'delete', ids: [20] } })
    expect([ids(await page(sandbox))[0], ids(await page(sandbox))[0]]).toEqual([20, 19])
  })

  it('commits late: stamped now, visible only after later records', async () => {
    const sandbox = await moving([])
    sandbox.script([
      { when: { nth: 1 }, before: { kind: 'late', hold: 2 } },
      { when: { nth: 2 }, before: { kind: 'create' } },
    ])
    const seen = []
    for (let i = 0; i < 3; i += 1) seen.push(ids(await page(sandbox, 1, 3)))
    expect(seen).toEqual([
      [20, 19, 18],
      [21, 20, 19],
      [21, 22, 20],
    ])
  })

  it('shuffles ties from response to response, and only ties', async () => {
    const sandbox = await moving({ kind: 'shuffle' })
    for (const id of range(101, 150))
      sandbox.store.put(101, 'notes', { id, updated_at: '2026-02-01T00:00:00.000000Z' })
    const orders = []
    for (let i = 0; i < 4; i += 1) orders.push(ids(await page(sandbox, 1, 100)))
    for (const order of orders) {
      expect(order.slice(50)).toEqual(range(20, 1))
      expect([...order.slice(0, 50)].sort()).toEqual(range(101, 150))
    }
    expect(new Set(orders.map(String)).size).toBe(4)
    const parts = []
    for (let i = 0; i < 3; i += 1)
      parts.push(ids(await shop(sandbox, 'notes?updated_after=2026-01-31T00:00:00Z&per_page=10&page=3')))
    expect(parts.map((found) => new Set(found).size)).toEqual([10, 10, 10])
    // Records move from page to page: any of the fifty may come, newer or older in the store than this page.
    const [lowest, highest] = [Math.min(...parts.flat()), Math.max(...parts.flat())]
    expect([lowest < 121, highest > 130]).toEqual([true, true])
  })

  it('puts records of one second in the order of their ids, in lists by whole seconds', async () => {
    const sandbox = await moving({ kind: 'order', by: 'seconds' })
    for (const [i, id] of [31, 29, 30].entries())
      sandbox.store.put(101, 'notes', template('notes', id, `2026-02-01T00:00:00.${i}00000Z`))
    expect(ids(await page(sandbox))).toEqual([29, 30, 31, 20, 19])
  })

  it('revokes and grants tenants, switches resources off and on', async () => {
    const sandbox = await moving([
      { kind: 'revoke', tenant: 102 },
      { kind: 'off', resource: 'vehicles' },
    ])
    const asked = async (): Promise<number[]> => {
      const statuses = []
      for (const path of ['101/notes', '102/notes', '101/vehicles'])
        statuses.push((await request(sandbox, `/api/v1/tenants/${path}`)).status)
      return statuses
    }
    expect(await asked()).toEqual([200, 404, 404])
    const grant: Motion = { kind: 'grant', tenant: 102, writable: false }
    sandbox.script([{ before: [grant, { kind: 'on', resource: 'vehicles' }] }])
    expect(await asked()).toEqual([200, 200, 200])
    expect(sandbox.store.tenant(102).writable).toBe(false)
  })

  it('uses up the rate limit like another consumer', async () => {
    const script: Rule[] = [{ before: { kind: 'consume', requests: 4 } }]
    const sandbox = await emptySandbox({ rate: { limit: 10 }, script })
    const left = async () => (await shop(sandbox, 'notes')).headers.get('x-ratelimit-remaining')
    expect([await left(), await left(), await left()]).toEqual(['5', '0', '0'])
  })

  it('lets the shops work', async () => {
    const { body } = await page(await moving({ kind: 'work', n: 3, tenant: 101 }), 1, 100)
    expect(JSON.stringify(body)).toContain('(rev ')
  })

  it('poisons a record: pages that would show it answer 500, and so does a read by id, until it is healed', async () => {
    const sandbox = await moving({ kind: 'poison', ranks: [7] })
    const pages = [await page(sandbox, 1), await page(sandbox, 2), await page(sandbox, 7, 1)]
    const statuses = [...pages, await shop(sandbox, 'notes/13')]
    expect(statuses.map(({ status }) => status)).toEqual([200, 500, 200, 500])
    sandbox.script([{ when: first, before: { kind: 'heal' } }])
    expect((await page(sandbox, 2)).status).toBe(200)
  })

  it('restores a backup', async () => {
    const sandbox = await moving({ kind: 'backup' })
    await page(sandbox)
    const kept = sandbox.store.get(101, 'notes', 3)
    sandbox.store.change(101, 'notes', 3, { description: 'later' })
    sandbox.store.remove(101, 'notes', 4)
    sandbox.script([{ when: first, before: [{ kind: 'create' }, { kind: 'rewind' }] }])
    expect((await page(sandbox)).body.total_count).toBe(20)
    expect(sandbox.store.get(101, 'notes', 3)).toEqual(kept)
    expect(ids(await page(sandbox, 4))).toEqual(range(5, 1))
  })
})

describe('a sandbox in the process of a test', () => {
  it('calls hooks before each request is answered, with what it requests', async () => {
    const sandbox = await moving([])
    const seen: unknown[] = []
    const stop = sandbox.onRequest(
      async ({ n, tenant, resource, page: number, perPage, updatedAfter, method }) => {
        await Promise.resolve()
        seen.push([n, tenant, resource, number, perPage, updatedAfter, method])
        sandbox.store.remove(101, 'notes', 20)
      },
    )
    expect(ids(await page(sandbox))).toEqual(range(19, 15))
    stop()
    await page(sandbox, 2)
    expect(seen).toEqual([[1, 101, 'notes', 1, 5, '1970-01-01T00:00:00Z', 'GET']])
  })

  it('keeps a log of requests that can be reset', async () => {
    const sandbox = await emptySandbox({ script: [{ when: { page: 2 }, fault: { kind: 'drop' } }] })
    await page(sandbox)
    await page(sandbox, 2).catch(() => undefined)
    const asked = { method: 'GET', tenant: 101, resource: 'notes', per_page: 5 }
    const times = { updated_after: '1970-01-01T00:00:00Z', time: '2026-03-02T12:00:00.000000Z' }
    const first = { ...asked, ...times, page: 1, status: 200 }
    expect(sandbox.requests).toMatchObject([first, { page: 2, status: null }])
    sandbox.resetRequests()
    expect(sandbox.requests).toEqual([])
  })

  it('stores exactly what is put, including integers beyond 2^53', async () => {
    const { store } = await emptySandbox()
    const big = 2n ** 70n
    const record = { id: 1, updated_at: '2026-01-01T02:00:00.123456+02:00', name: 'a"\\\u0000\ud800', big }
    store.put(101, 'notes', record)
    expect(store.get(101, 'notes', 1)).toEqual({ ...record, big: Number(big) })
    expect(store.collection(101, 'notes').get(1)!.text).toContain(`"big":${big}`)
    store.put(101, 'notes', { id: null, name: 'no id' }, { key: 5, at: '2026-01-02T00:00:00Z' })
    expect(store.get(101, 'notes', 5)).toEqual({ id: null, name: 'no id' })
    expect(store.all(101, 'notes')).toHaveLength(2)
    expect(() => store.put(999, 'notes', record)).toThrow('addTenant')
    expect(() => store.put(101, 'widgets', record)).toThrow('register')
  })

  it('is empty after a reset, and goes down and comes up at the same address', async () => {
    const sandbox = await moving([])
    sandbox.reset()
    expect([sandbox.tenantIds, (await page(sandbox)).status]).toEqual([[], 404])
    sandbox.store.addTenant({ id: 101 })
    await sandbox.down()
    await expect(page(sandbox)).rejects.toThrow()
    await sandbox.up()
    expect((await page(sandbox)).body.total_count).toBe(0)
    await sandbox.down()
  })
})
