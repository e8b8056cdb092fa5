/** What tests do with a sandbox in their process, what no text shows of it, and that it answers all that docs/sandbox.md lists. */
import { describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { type Rule, type Sandbox, template } from '../../src/sandbox/index.js'
import { EPOCH, emptySandbox, ids, putNotes, type Reply, request, shop } from '../support/harness/requests.js'
import { textOf } from '../support/harness/tree.js'

const time = '2026-01-01T00:00:00.000000Z'

async function withNotes(...script: readonly Rule[]): Promise<Sandbox> {
  const sandbox = await emptySandbox({ script })
  putNotes(sandbox, 20)
  return sandbox
}

const page = (sandbox: Sandbox, number = 1, size = 5): Promise<Reply> =>
  shop(sandbox, `notes?${EPOCH}&per_page=${size}&page=${number}`)

describe('a sandbox in the process of a test', () => {
  it('calls hooks before each request is answered, with what it requests', async () => {
    const sandbox = await withNotes()
    const seen: unknown[] = []
    const stop = sandbox.onRequest(
      async ({ n, tenant, resource, page: number, perPage, updatedAfter, method }) => {
        await Promise.resolve()
        seen.push([n, tenant, resource, number, perPage, updatedAfter, method])
        sandbox.store.remove(101, 'notes', 20)
      },
    )
    expect(ids(await page(sandbox))).toEqual([19, 18, 17, 16, 15])
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
    expect(() => store.put(101, 'trinkets', record)).toThrow('register')
  })

  it('is empty after a reset, and goes down and comes up at the same address', async () => {
    const sandbox = await withNotes()
    sandbox.reset()
    expect([sandbox.tenantIds, (await page(sandbox)).status]).toEqual([[], 404])
    sandbox.store.addTenant({ id: 101 })
    await sandbox.down()
    await expect(page(sandbox)).rejects.toThrow()
    await sandbox.up()
    expect((await page(sandbox)).body.total_count).toBe(0)
    await sandbox.down()
  })

  it('stalls until the client leaves, or until it is closed', async () => {
    for (const part of ['headers', 'body'] as const) {
      const sandbox = await withNotes({ fault: { kind: 'stall', part } })
      const signal = AbortSignal.timeout(50)
      const response = fetch(`${sandbox.url}/api/v1/tenants/101/notes`, { signal }).then((r) => r.text())
      await expect(response).rejects.toThrow()
    }
    const sandbox = await withNotes({ fault: { kind: 'stall' } })
    const waiting = expect(page(sandbox)).rejects.toThrow()
    while (sandbox.requests.length === 0) await new Promise(setImmediate)
    await sandbox.close()
    await waiting
  })

  it('shuffles ties from response to response, and only ties', async () => {
    const sandbox = await withNotes({ before: { kind: 'shuffle' } })
    const ties = Array.from({ length: 50 }, (_, i) => 101 + i)
    for (const id of ties) sandbox.store.put(101, 'notes', { id, updated_at: '2026-02-01T00:00:00.000000Z' })
    const orders = []
    for (let i = 0; i < 4; i += 1) orders.push(ids(await page(sandbox, 1, 100)))
    expect(new Set(orders.map(String)).size).toBe(4)
    for (const order of orders) {
      expect(order.slice(50)).toEqual(Array.from({ length: 20 }, (_, i) => 20 - i))
      expect(order.slice(0, 50).sort()).toEqual(ties)
    }
    const parts = []
    for (let i = 0; i < 3; i += 1)
      parts.push(ids(await shop(sandbox, 'notes?updated_after=2026-01-31T00:00:00Z&per_page=10&page=3')))
    expect(parts.map((found) => new Set(found).size)).toEqual([10, 10, 10])
    // Records move from page to page: any of the fifty may come, newer or older in the store than this page.
    const [lowest, highest] = [Math.min(...parts.flat()), Math.max(...parts.flat())]
    expect([lowest < 121, highest > 130]).toEqual([true, true])
  })

  it('has each answer take time, under a name of its own', async () => {
    const sandbox = await withNotes()
    const [first, second] = [(await page(sandbox)).headers, (await page(sandbox)).headers]
    expect(Number(first.get('x-runtime'))).toBeGreaterThan(0)
    expect(first.get('x-request-id')).not.toBe(second.get('x-request-id'))
  })
})

describe('the operations of docs/sandbox.md', () => {
  const listed = [...textOf('docs/sandbox.md').matchAll(/^\| (GET|POST|PUT|DELETE) \| ([^|]+) \|/gm)].flatMap(
    ([, method = '', cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => `${method} ${path}`),
  )
  const operations = listed.filter((one) => one !== 'GET /:id')
  const paths = Object.values(resources).map(({ path, name }) => path ?? name)

  async function full(): Promise<Sandbox> {
    const sandbox = await emptySandbox()
    for (const resource of sandbox.store.resources) {
      const own = resource === 'repair_orders' ? { state: 'estimate' } : { taggable_type: 'Customer' }
      sandbox.store.put(101, resource, { ...template(resource, 1, time), ...own })
    }
    return sandbox
  }
  const answer = async (sandbox: Sandbox, method: string, path: string): Promise<number> => {
    const filled = path.replace(':partner_id', '42').replace(':service_id', '10').replaceAll(/:\w+/g, '1')
    const whole = path.startsWith('/') ? filled : `/api/v1/tenants/101/${filled}`
    return (await request(sandbox, whole, method === 'GET' ? {} : { method, body: {} })).status
  }

  it('are answered, with one record too', async () => {
    const sandbox = await full()
    for (const operation of operations) {
      const [method = '', path = ''] = operation.split(' ')
      // A creation is rejected without the fields of a body, unless all are optional.
      const expected = method === 'POST' ? (path === 'customers' ? 201 : 422) : 200
      expect([operation, await answer(sandbox, method, path)]).toEqual([operation, expected])
      if (method === 'GET' && /^\w+$/.test(path))
        expect([path, await answer(sandbox, method, `${path}/1`)]).toEqual([path, 200])
    }
  })

  it('are all: each list, and whatever else can be written', async () => {
    const sandbox = await full()
    const unlisted: string[] = []
    for (const path of paths)
      for (const operation of [`GET ${path}`, `POST ${path}`, `PUT ${path}/:id`, `DELETE ${path}/:id`]) {
        const [method = '', at = ''] = operation.split(' ')
        const isKnown = (await answer(sandbox, method, at)) !== 404
        if (isKnown !== operations.includes(operation)) unlisted.push(operation)
      }
    expect(unlisted).toEqual([])
  })
})
