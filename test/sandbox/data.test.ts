/** What the sandbox generates: the same for the same seed, however it is kept, and in itself without contradictions. */
import { describe, expect, it } from 'vitest'
import { createSandbox, parseInstant, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.js'
import { EPOCH, emptySandbox, noon, shop } from '../support/harness/requests.js'
import { sample, sized } from '../support/harness/size.js'
import { HandClock } from '../support/world/clocks.js'

// biome-ignore lint/suspicious/noExplicitAny: records of every resource are read here
type Row = Record<string, any>

const generated = (options: SandboxOptions = {}): Promise<Sandbox> =>
  emptySandbox({ data: 'generated', repairOrders: 300, ...options })

/** Made once for all tests that only read it. */
let made: Promise<Sandbox> | undefined
const usual = (): Promise<Sandbox> => {
  made ??= generated()
  return made
}
const few = sized(60, 300)

const everything = (sandbox: Sandbox): string =>
  JSON.stringify(
    sandbox.tenantIds.flatMap((tenant) =>
      sandbox.store.resources.map((resource) => sandbox.store.all(tenant, resource)),
    ),
  )

const all = (sandbox: Sandbox, resource: string): Row[] => sandbox.store.all(101, resource)
const orders = (sandbox: Sandbox): Row[] => all(sandbox, 'repair_orders')

/** Every object with stamps of its own, nested ones included. */
function* stamped(value: unknown): Generator<{ created_at: string; updated_at: string }> {
  if (typeof value !== 'object' || value === null) return
  if ('created_at' in value && 'updated_at' in value)
    yield value as { created_at: string; updated_at: string }
  for (const item of Object.values(value)) yield* stamped(item)
}

const microsOf = (text: string): bigint => parseInstant(text) ?? 0n

/** Stamps before the record was created, after the record that contains them, or after now. */
function wrongStamps({ store }: Sandbox, now: bigint): unknown[] {
  return store.resources.flatMap((resource) =>
    store
      .all(101, resource)
      .flatMap((record) =>
        [...stamped(record)].filter(
          ({ created_at, updated_at }) =>
            updated_at < created_at || updated_at > record.updated_at || microsOf(updated_at) > now,
        ),
      ),
  )
}

describe('generated data', () => {
  it('is the same when it is made for each tenant as it is first asked for', async () => {
    const options = { repairOrders: 20, tenants: 2, until: noon }
    const [eager, lazy] = [await generated(options), await generated({ ...options, lazy: true })]
    const waiting = (): number[] =>
      lazy.store.granted.filter(({ fill }) => fill !== undefined).map(({ id }) => id)
    expect(waiting()).toEqual([101, 102])
    const { body } = await shop(lazy, `customers?${EPOCH}`)
    expect(body).toMatchObject({ total_count: eager.store.count(101, 'customers') })
    expect(waiting()).toEqual([102])
    for (const { work } of [lazy, eager]) work(20, 102)
    expect(lazy.store.ids(102, 'repair_orders')).toEqual(eager.store.ids(102, 'repair_orders'))
    expect(JSON.stringify(all(lazy, 'inventories'))).toBe(JSON.stringify(all(eager, 'inventories')))
    expect(orders(lazy)).toEqual(orders(eager))
  })

  it('is the same when it is kept compressed, in whatever order it is read, and can be changed', async () => {
    const options = { repairOrders: 400, tenants: 1, until: noon }
    const [eager, lazy] = [await generated(options), await generated({ ...options, lazy: true })]
    const texts = ({ store }: Sandbox, order: 'newest' | 'scattered'): string[] => {
      const orders = store.collection(101, 'repair_orders')
      return orders[order](0, orders.size).map(({ text }) => text)
    }
    const before = texts(lazy, 'newest')
    // Of several blocks.
    expect(before.join().length).toBeGreaterThan(500_000)
    expect(before).toEqual(texts(eager, 'newest'))
    expect(texts(lazy, 'scattered')).toEqual(texts(eager, 'scattered'))
    const [middle = 0] = lazy.store.ids(101, 'repair_orders').slice(200)
    for (const { store } of [eager, lazy]) {
      store.change(101, 'repair_orders', middle, { odometer: 7 }, 1_900_000_000_000_000n)
      store.remove(101, 'repair_orders', middle + 1)
    }
    expect(texts(lazy, 'newest')).toEqual(texts(eager, 'newest'))
    expect(texts(lazy, 'newest')).toHaveLength(before.length - 1)
  })

  it('and what shops do with it is the same for the same seed, and different for another', async () => {
    const run = async (seed: number): Promise<[unknown, string]> => {
      const sandbox = await generated({ seed, tenants: 2, repairOrders: few })
      return [sandbox.work(80), everything(sandbox)]
    }
    const [first, again, other] = [await run(5), await run(5), await run(6)]
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
  })

  it('fills every resource of tenants of different sizes', async () => {
    const sandbox = await generated({ repairOrders: undefined as never, tenants: 3, scale: 0.2 })
    expect(sandbox.tenantIds).toEqual([101, 102, 103])
    expect(sandbox.tenantIds.map((tenant) => sandbox.store.count(tenant, 'repair_orders'))).toEqual([
      60, 180, 480,
    ])
    expect(sandbox.store.resources.filter((resource) => sandbox.store.count(103, resource) === 0)).toEqual([])
    expect((await shop(sandbox, 'payments/customer_payment_types')).body).toEqual([
      'Fleet',
      'Warranty',
      'Visa',
    ])
  })

  it.each(sample([1, 2, 3]))(
    'stamps nothing before it was created, after its record or after now (seed %i)',
    async (seed) => {
      const clock = new HandClock(noon)
      const sandbox = await generated({ seed, clock, repairOrders: few })
      expect(wrongStamps(sandbox, clock.nowMicros())).toEqual([])
      clock.pass(3_600_000)
      sandbox.work(300)
      expect(wrongStamps(sandbox, clock.nowMicros() + 5000n)).toEqual([])
    },
  )

  it('has states that agree with their timestamps', async () => {
    for (const order of orders(await usual())) {
      const { state, created_at, started_at, closed_at, picked_up_at, services } = order
      if (state === 'estimate') expect([started_at, closed_at, picked_up_at]).toEqual([null, null, null])
      else expect(started_at >= created_at).toBe(true)
      if (state === 'in_progress') expect(closed_at).toBeNull()
      if (state === 'invoice') {
        expect(closed_at >= started_at).toBe(true)
        expect(
          services.filter(({ completed, completed_at }: Row) => !completed || completed_at === null),
        ).toEqual([])
      }
      for (const kind of ['part', 'labor'])
        expect([order[`${kind}_discount_cents`], order[`${kind}_discount_percentage`]]).toContain(null)
    }
  })

  it('has ids that are unique in each table, nested ones included', async () => {
    const services: Row[] = orders(await usual()).flatMap((order) => order.services)
    for (const kind of ['labors', 'parts', 'hazmats', 'sublets', 'inspections', undefined]) {
      const items: Row[] = kind === undefined ? services : services.flatMap((service) => service[kind])
      expect([kind, new Set(items.map(({ id }) => id)).size]).toEqual([kind, items.length])
    }
  })

  it('has no pattern that a client could rely on: odd texts, services or none, hardly two stamps alike', async () => {
    const sandbox = await usual()
    const keys = all(sandbox, 'recommendations').map(({ service }) => Object.keys(service).length === 0)
    expect(new Set(keys).size).toBe(2)
    expect(JSON.stringify(all(sandbox, 'customers'))).toMatch(/[^\u0020-\u007e’“”–]/)
    for (const resource of sandbox.store.resources) {
      const times = sandbox.store.all(101, resource).map(({ updated_at }) => updated_at)
      expect(times.length - new Set(times).size).toBeLessThanOrEqual(Math.max(1, times.length / 100))
    }
  })

  it('embeds exactly the tags that it lists', async () => {
    const sandbox = await usual()
    const tags = sandbox.store.resources.flatMap((resource) =>
      all(sandbox, resource).flatMap(({ integrator_tags = [] }) => integrator_tags),
    )
    const byId = (a: Row, b: Row): number => a.id - b.id
    expect(all(sandbox, 'integrator_tags').length).toBeGreaterThan(0)
    expect(tags.sort(byId)).toEqual(all(sandbox, 'integrator_tags').sort(byId))
  })

  it('ends at a date that is one', async () => {
    await expect(createSandbox({ until: 'yesterday' })).rejects.toThrow('until: not an ISO 8601 datetime')
  })
})

describe('the shops at work', () => {
  it('create, change and delete records, with stamps from now on that no two have, and tell which', async () => {
    const sandbox = await generated()
    const changes = sandbox.work(300, 101)
    expect(changes.length).toBeGreaterThanOrEqual(300)
    expect(new Set(changes.map(({ action }) => action))).toEqual(new Set(['created', 'updated', 'deleted']))
    const touched = changes.flatMap(({ resource, id }) => sandbox.store.get(101, resource, id) ?? [])
    expect(touched.filter(({ updated_at }) => microsOf(updated_at) < microsOf(noon))).toEqual([])
    const stamps = orders(sandbox).map(({ updated_at }) => updated_at)
    expect(new Set(stamps).size).toBe(stamps.length)
  })

  it('move estimates to in_progress and on to paid invoices', async () => {
    const sandbox = await generated()
    const open = new Set(orders(sandbox).flatMap(({ id, state }) => (state === 'invoice' ? [] : [id])))
    sandbox.work(400)
    const done = orders(sandbox).filter(({ id, state }) => state === 'invoice' && open.has(id))
    expect(done.length).toBeGreaterThan(3)
    for (const { started_at, closed_at, picked_up_at } of done)
      expect([started_at, closed_at, picked_up_at]).not.toContain(null)
    expect(done.some(({ payments }) => payments.length > 0)).toBe(true)
  })
})
