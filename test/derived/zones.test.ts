/** Days are those of the shops' zones: the configured ones, or what a shop says of itself, also where it says so late. */
import { DateTime } from 'luxon'
import { describe, expect, it } from 'vitest'
import { readRules } from '../../src/analytics/rules.js'
import { systemClock } from '../../src/clock.js'
import { createSandbox } from '../../src/sandbox/index.js'
import { runSync } from '../../src/sync/run/run.js'
import { fromMicros } from '../../src/timestamp.js'
import { openWarehouse } from '../../src/warehouse/open.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { depsOf, known } from '../support/run.js'
import { rowsOf, warehouses } from '../support/warehouse.js'

const usual = {
  timeZone: 'America/Chicago',
  shopTimeZones: {},
  taxRates: 'percent',
  schema: undefined,
  names: {},
  tenantNames: {},
} as const
type Report = Omit<typeof usual, 'shopTimeZones' | 'timeZone'> & {
  readonly timeZone: string
  readonly shopTimeZones: Readonly<Record<string, string>>
}

const dayIn = (zone: string, instant: unknown): string | null =>
  DateTime.fromISO(String(instant), { zone: 'utc' }).setZone(zone).toISODate()

describe.each(warehouses())('$name', (kind) => {
  it('are computed with the orders, and anew where a zone comes or changes', async () => {
    const sandbox = await createSandbox({ tenants: [{ id: 101 }], repairOrders: 60, seed: 3 })
    let report: Report = usual
    const warehouse = await openWarehouse({
      ...kind.address(),
      model: known,
      readRules: (writing) => readRules(writing, known, report, systemClock.nowMicros()),
    })
    await warehouse.migrate()
    /** The number of records that the run has computed anew. */
    const run = async (): Promise<number> => {
      const notices: [string, Record<string, unknown>][] = []
      const { deps, close } = await depsOf(sandbox, warehouse, { notices })
      const config = { ...deps.config, report }
      await runSync({ ...deps, config }, { mode: 'sync', job: null, tenants: null, resources: null })
      await close()
      return notices
        .filter(([message]) => message.startsWith('Rows were computed anew'))
        .reduce((sum, [, { records }]) => sum + Number(records), 0)
    }

    // The shops say where they are, and come with their first orders: the run that brings both puts the days right.
    const own = new Map(
      sandbox.store.all(101, 'shops').map((shop) => {
        const { id, time_zone } = shop as unknown as { id: number; time_zone?: string }
        return [id, time_zone]
      }),
    )
    const zoneOf = (id: unknown): string => own.get(Number(id)) ?? 'America/Chicago'
    await run()
    await expectDays(warehouse, zoneOf)
    expect(await run()).toBe(0)

    const shops = [...own.keys()]
    const [shop = 0] = shops
    report = { ...usual, shopTimeZones: { [`101/${shop}`]: 'Asia/Kathmandu' } }
    expect(await run()).toBe(60)
    await expectDays(warehouse, (id) => (id === shop ? 'Asia/Kathmandu' : zoneOf(id)))
    const closed = await rowsOf(warehouse, 'repair_orders')
    const utc = closed.map(({ closed_at }) => (closed_at === null ? null : String(closed_at).slice(0, 10)))
    expect((await rowsOf(warehouse, 'repair_order_totals')).map(({ closed_on }) => closed_on)).not.toEqual(
      utc,
    )
    expect(await run()).toBe(0)

    // A shop says of itself, after its orders were stored, in which zone it is. The configuration goes before it.
    for (const id of shops)
      sandbox.store.put(101, 'shops', {
        id,
        time_zone: 'Pacific Time (US & Canada)',
        updated_at: fromMicros(sandbox.store.clock.nowMicros()),
      } as never)
    const changed = shops.length > 1 ? 60 : 0
    expect(await run()).toBe(changed)
    await expectDays(warehouse, (id) => (id === shop ? 'Asia/Kathmandu' : 'America/Los_Angeles'))
    expect(await run()).toBe(0)
    await warehouse.close()
    await sandbox.close()
  })
})

async function expectDays(warehouse: Warehouse, zoneOf: (shop: unknown) => string): Promise<void> {
  const orders = await rowsOf(warehouse, 'repair_orders')
  const rows = await rowsOf(warehouse, 'repair_order_totals')
  const wanted = orders.map(({ shop_id, created_at, started_at, closed_at }) =>
    [created_at, started_at, closed_at].map((instant) =>
      instant === null ? null : dayIn(zoneOf(shop_id), instant),
    ),
  )
  expect(rows.map(({ created_on, started_on, closed_on }) => [created_on, started_on, closed_on])).toEqual(
    wanted,
  )
}
