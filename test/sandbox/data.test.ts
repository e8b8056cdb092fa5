import { describe, expect, it } from 'vitest'
import { billTotal } from '../../src/sandbox/data/bill.js'
import { print } from '../../src/sandbox/data/moment.js'
import type { Order } from '../../src/sandbox/data/order.js'
import {
  type ApiRecord,
  createSandbox,
  parseInstant,
  type Sandbox,
  type SandboxOptions,
} from '../../src/sandbox/index.js'
import { printInstant } from '../../src/sandbox/instant.js'
import { Random } from '../../src/sandbox/random.js'
import { EPOCH, emptySandbox, noon, shop } from '../support/harness/requests.js'
import { sample, sized } from '../support/harness/size.js'
import { HandClock } from '../support/world/clocks.js'

const UNTIL = '2026-03-02T12:00:00Z'

async function generated(options: SandboxOptions = {}): Promise<Sandbox> {
  return emptySandbox({ data: 'generated', repairOrders: 300, ...options })
}

/** Made once for all tests that only read it. */
const madeOnce = (options: SandboxOptions): (() => Promise<Sandbox>) => {
  let made: Promise<Sandbox> | undefined
  return () => {
    made ??= generated(options)
    return made
  }
}
const usual = madeOnce({})
const many = sized(1500, 5000)
const few = sized(60, 300)
const large = madeOnce({ repairOrders: many })

const everything = (sandbox: Sandbox): string =>
  JSON.stringify(
    sandbox.tenantIds.flatMap((tenant) =>
      sandbox.store.resources.map((resource) => sandbox.store.all(tenant, resource)),
    ),
  )

const orders = (sandbox: Sandbox): Order[] => sandbox.store.all(101, 'repair_orders') as unknown as Order[]

/** Every timestamp under created_at and updated_at, nested ones included. */
function* stamped(value: unknown): Generator<{ created_at: string; updated_at: string }> {
  if (Array.isArray(value)) for (const item of value) yield* stamped(item)
  else if (typeof value === 'object' && value !== null) {
    if ('created_at' in value && 'updated_at' in value)
      yield value as { created_at: string; updated_at: string }
    for (const item of Object.values(value)) yield* stamped(item)
  }
}

describe('generated data', () => {
  it('is the same when it is made for each tenant as it is first asked for', async () => {
    const options = { repairOrders: 20, tenants: 2, until: UNTIL }
    const [eager, lazy] = [await generated(options), await generated({ ...options, lazy: true })]
    const waiting = (): number[] =>
      lazy.store.granted.filter(({ fill }) => fill !== undefined).map(({ id }) => id)
    expect(waiting()).toEqual([101, 102])
    const { body } = await shop(lazy, `customers?${EPOCH}`)
    expect(body).toMatchObject({ total_count: eager.store.count(101, 'customers') })
    expect(waiting()).toEqual([102])
    lazy.work(20, 102)
    eager.work(20, 102)
    const shown = [101, 102].map((tenant) => lazy.store.ids(tenant, 'repair_orders'))
    expect(shown).toEqual([101, 102].map((tenant) => eager.store.ids(tenant, 'repair_orders')))
    for (const resource of eager.store.resources)
      expect(lazy.store.all(101, resource), resource).toEqual(eager.store.all(101, resource))
  })

  it('is the same when it is kept compressed, in whatever order it is read, and can be changed', async () => {
    const options = { repairOrders: 400, tenants: 1, until: UNTIL }
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

  // The first one: it generates them, and queries the server that does.
  it('makes very many repair orders and serves any page of them', async () => {
    const sandbox = await large()
    const { body } = await shop(sandbox, `repair_orders?${EPOCH}&per_page=100&page=7`)
    expect(body).toMatchObject({ total_count: many, total_pages: many / 100, limit: 100, limited: true })
  })

  it('is the same for the same seed, and different for another', async () => {
    const [first, again, other] = [
      await generated({ seed: 5, repairOrders: few }),
      await generated({ seed: 5, repairOrders: few }),
      await generated({ seed: 6, repairOrders: few }),
    ]
    expect(everything(again)).toBe(everything(first))
    expect(everything(other)).not.toBe(everything(first))
  })

  it('fills every resource of tenants of different sizes', async () => {
    const sandbox = await generated({ repairOrders: undefined as never, tenants: 3, scale: 0.2 })
    expect(sandbox.tenantIds).toEqual([101, 102, 103])
    expect(sandbox.tenantIds.map((tenant) => sandbox.store.count(tenant, 'repair_orders'))).toEqual([
      60, 180, 480,
    ])
    for (const resource of sandbox.store.resources)
      expect([resource, sandbox.store.count(103, resource)]).not.toEqual([resource, 0])
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
      const check = (until: bigint) => {
        const wrong = sandbox.store.resources.flatMap((resource) =>
          sandbox.store
            .all(101, resource)
            .flatMap((record) =>
              [...stamped(record)]
                .filter(
                  ({ created_at, updated_at }) =>
                    updated_at < created_at ||
                    updated_at > record.updated_at ||
                    parseInstant(updated_at)! > until,
                )
                .map((found) => ({ resource, id: record.id, found })),
            ),
        )
        expect(wrong).toEqual([])
      }
      check(clock.nowMicros())
      clock.pass(3_600_000)
      sandbox.work(300)
      check(clock.nowMicros() + 5000n)
    },
  )

  it('has states that agree with their timestamps', async () => {
    for (const order of orders(await usual())) {
      if (order.state === 'estimate')
        expect([order.started_at, order.closed_at, order.picked_up_at]).toEqual([null, null, null])
      else expect(order.started_at! >= order.created_at).toBe(true)
      if (order.state === 'in_progress') expect(order.closed_at).toBeNull()
      if (order.state === 'invoice') {
        expect(order.closed_at! >= order.started_at!).toBe(true)
        expect(
          order.services.every(({ completed, completed_at }) => completed && completed_at !== null),
        ).toBe(true)
      }
      for (const kind of ['part', 'labor'] as const)
        expect([order[`${kind}_discount_cents`], order[`${kind}_discount_percentage`]]).toContain(null)
    }
  })

  it('has ids that are unique in each table, nested ones included', async () => {
    const services = orders(await usual()).flatMap((order) => order.services)
    const unique = (items: readonly { id: number }[]) =>
      expect(new Set(items.map(({ id }) => id)).size).toBe(items.length)
    unique(services)
    for (const kind of ['labors', 'parts', 'hazmats', 'sublets', 'inspections'] as const)
      unique(services.flatMap((service): { id: number }[] => service[kind]))
  })

  it('refers only to records that exist', async () => {
    const sandbox = await usual()
    const known = (resource: string) => new Set(sandbox.store.ids(101, resource))
    const [customers, staffs, vehicles, shops, stock, jobs] = [
      'customers',
      'staffs',
      'vehicles',
      'shops',
      'inventories',
      'canned_jobs',
    ].map(known)
    for (const order of orders(sandbox)) {
      expect(
        customers!.has(order.customer_id) && vehicles!.has(order.vehicle_id) && shops!.has(order.shop_id),
      ).toBe(true)
      expect(staffs!.has(order.technician_id) && staffs!.has(order.advisor_id)).toBe(true)
      for (const service of order.services) {
        expect(service.canned_job_id === null || jobs!.has(service.canned_job_id)).toBe(true)
        for (const part of service.parts) expect(stock!.has(part.part_inventory_id)).toBe(true)
      }
    }
  })

  it('pays invoices in full, with payments, on the order and by card transactions alike', async () => {
    const sandbox = await usual()
    const sum = (items: readonly { amount_cents: number }[]) =>
      items.reduce((total, { amount_cents }) => total + amount_cents, 0)
    const payments = sandbox.store.all(101, 'payments') as (ApiRecord & { amount_cents: number })[]
    let paid = 0
    for (const order of orders(sandbox)) {
      const own = payments.filter((payment) => payment['repair_order_id'] === order.id)
      expect(sum(own)).toBe(sum(order.payments))
      if (own.length > 0 && order.state === 'invoice') {
        paid += 1
        expect(sum(own)).toBe(billTotal(order))
      }
    }
    expect(paid).toBeGreaterThan(200)
    for (const transaction of sandbox.store.all(101, 'payment_transactions'))
      expect(transaction['payment_id'] === null).toBe(transaction['status'] !== 'approved')
  })

  it('looks like a shop: quiet Sundays, busy autumns, some quick recommendations', async () => {
    const sandbox = await large()
    const days = orders(sandbox).map(({ created_at }) => new Date(created_at))
    const share = (test: (day: Date) => boolean) => days.filter(test).length / days.length
    expect(share((day) => day.getUTCDay() === 0)).toBeLessThan(0.03)
    expect(share((day) => day.getUTCMonth() === 10)).toBeGreaterThan(
      share((day) => day.getUTCMonth() === 1) * 1.2,
    )
    const services = sandbox.store
      .all(101, 'recommendations')
      .map((record) => Object.keys(record['service'] as object).length)
    expect(new Set(services.map((keys) => keys === 0)).size).toBe(2)
    expect(JSON.stringify(sandbox.store.all(101, 'customers'))).toMatch(/[^\u0020-\u007e’“”–]/)
  })

  it('embeds exactly the tags that it lists', async () => {
    const sandbox = await large()
    const listed = sandbox.store.all(101, 'integrator_tags')
    const embedded = ['customers', 'repair_orders'].flatMap((resource) =>
      sandbox.store.all(101, resource).flatMap((record) => record['integrator_tags'] as ApiRecord[]),
    )
    expect(listed.length).toBeGreaterThan(0)
    expect(embedded.sort((a, b) => a.id - b.id)).toEqual([...listed].sort((a, b) => a.id - b.id))
  })

  it('has hardly any two records with the same updated_at', async () => {
    const sandbox = await large()
    for (const resource of sandbox.store.resources) {
      const times = sandbox.store.all(101, resource).map(({ updated_at }) => updated_at)
      expect(times.length - new Set(times).size).toBeLessThanOrEqual(Math.max(1, times.length / 100))
    }
  })
})

describe('the shops at work', () => {
  it('changes records with strictly increasing stamps, and returns which', async () => {
    const sandbox = await generated({ clock: new HandClock(noon) })
    const before = parseInstant(UNTIL)!
    const changes = sandbox.work(300, 101)
    expect(changes.length).toBeGreaterThanOrEqual(300)
    expect(new Set(changes.map(({ action }) => action))).toEqual(new Set(['created', 'updated', 'deleted']))
    const times: bigint[] = []
    for (const { action, resource, id } of changes) {
      const record = sandbox.store.get(101, resource, id)
      if (record === undefined || action === 'deleted') continue
      times.push(parseInstant(record.updated_at)!)
    }
    for (const time of times) expect(time).toBeGreaterThanOrEqual(before)
    const resources = new Set(changes.map(({ resource }) => resource))
    for (const resource of ['repair_orders', 'appointments', 'payments', 'notes', 'customers', 'inventories'])
      expect(resources).toContain(resource)
    const stamps = sandbox.store.all(101, 'repair_orders').map(({ updated_at }) => updated_at)
    expect(new Set(stamps).size).toBe(stamps.length)
  })

  it('does the same for the same seed', async () => {
    const run = async () => {
      const sandbox = await generated({ clock: new HandClock(noon), tenants: 2, repairOrders: few })
      return [sandbox.work(80), everything(sandbox)]
    }
    expect(await run()).toEqual(await run())
  })

  it('moves estimates to in_progress and on to paid invoices', async () => {
    const sandbox = await generated({ clock: new HandClock(noon) })
    const unpaid = new Set(
      orders(sandbox)
        .filter(({ state }) => state !== 'invoice')
        .map(({ id }) => id),
    )
    sandbox.work(400)
    const done = orders(sandbox).filter(({ id, state }) => state === 'invoice' && !unpaid.has(id) && id > 300)
    expect(done.length).toBeGreaterThan(5)
    for (const order of done)
      expect(order.started_at !== null && order.closed_at !== null && order.picked_up_at !== null).toBe(true)
  })
})

describe('createSandbox', () => {
  it('rejects an invalid reference date', async () => {
    await expect(createSandbox({ until: 'yesterday' })).rejects.toThrow('until: not an ISO 8601 datetime')
  })
})

describe('moments of the past', () => {
  it('are printed as the sandbox prints instants', () => {
    const random = new Random(3)
    const found = Array.from({ length: 500 }, () => Math.floor(random.next() * 4e15) - 1e15)
    for (const moment of [0, 1, -1, 86_399_999_999, 86_400_000_000, ...found])
      expect(print(moment)).toBe(printInstant(BigInt(moment)))
  })
})
