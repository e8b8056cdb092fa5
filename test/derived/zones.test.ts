/** Days follow the shops' zones: the configured ones, or what a shop says about itself, even if it says so late. */

import { DateTime } from 'luxon'
import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/base/clock.js'
import { Skip } from '../../src/engine/base/errors.js'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.js'
import { depsOf, known, type RunOptions, runSync, type Source } from '../support/harness/runs.js'
import { readRules, refreshBesideRows } from '../support/harness/views.js'
import { openWarehouse, rowsOf, type Warehouse, warehouses } from '../support/harness/warehouse.js'
import { begun } from '../support/world/begins.js'
import { Between } from '../support/world/between.js'

const usual = {
  timeZone: 'Europe/Berlin',
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

describe.each(warehouses())('$name', (kind) => {
  it('are computed with the orders, and recomputed when a zone is added or changes', async () => {
    const sandbox = await createSandbox({ tenants: [{ id: 101 }], repairOrders: 60, seed: 3 })
    let report: Report = usual
    const warehouse = await openWarehouse({
      ...(await kind.migrated()),
      model: known,
      readRules: (writing, tenantId) => readRules(writing, known, report, systemClock.nowMicros(), tenantId),
    })
    const run = (): Promise<number> => computedAnew(sandbox, warehouse, report)

    // The shops give their zones, and are read before their orders: no row is computed twice, and nothing is requested
    // twice.
    const own = new Map(
      sandbox.store.all(101, 'shops').map((shop) => {
        const { id, time_zone } = shop as unknown as { id: number; time_zone?: string }
        return [id, time_zone]
      }),
    )
    const zoneOf = (id: unknown): string => own.get(Number(id)) ?? 'Europe/Berlin'
    expect(await run()).toBe(0)
    await expectDays(warehouse, zoneOf)
    const asked = sandbox.requests.filter(
      ({ resource }) => resource === 'shops' || resource === 'repair_orders',
    )
    expect(asked.map(({ resource }) => resource)).toEqual(['shops', 'repair_orders'])
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

    // A shop gives its zone after its orders were stored. The configuration takes precedence.
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

  it("orders don't wait for shops that fail or come late, and are corrected when the shops have come", async () => {
    const sandbox = await createSandbox({ tenants: [{ id: 101 }, { id: 102 }], repairOrders: 20, seed: 3 })
    const warehouse = await openWarehouse({
      ...(await kind.migrated()),
      model: known,
      readRules: (writing, tenantId) => readRules(writing, known, usual, systemClock.nowMicros(), tenantId),
    })
    const orders: string[] = []
    let haveOrdersCome = (): void => {}
    const ordersCome = new Promise<void>((resolve) => {
      haveOrdersCome = resolve
    })
    const around = (source: Source): Source =>
      new Between(source, async ({ tenantId, path }, ask) => {
        if (path === 'shops' && tenantId === 101) throw new Skip('No shops', { reason: 'failed' })
        // Only comes when all orders have: a sync that waits for it without a limit waits forever.
        if (path === 'shops') await ordersCome
        const page = await ask()
        if (path === 'repair_orders') orders.push(String(tenantId))
        if (orders.length === 2) haveOrdersCome()
        return page
      })
    // The retry waits end at once; no other wait is that long.
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => systemClock.sleep(ms === 20_000 ? 0 : ms, signal),
    }
    expect(await computedAnew(sandbox, warehouse, usual, { around, clock })).toBe(20)
    expect(orders.sort()).toEqual(['101', '102'])
    expect(await computedAnew(sandbox, warehouse, usual)).toBe(20)
    const zones = new Map(
      [101, 102].flatMap((tenant) =>
        sandbox.store.all(tenant, 'shops').map((shop) => [`${tenant}/${shop.id}`, shop['time_zone']]),
      ),
    )
    await expectDays(warehouse, (shop, tenant) => String(zones.get(`${tenant}/${shop}`) ?? 'Europe/Berlin'))
    await warehouse.close()
    await sandbox.close()
  })
})

/** Runs, and returns the number of recomputed records. */
async function computedAnew(
  sandbox: Sandbox,
  warehouse: Warehouse,
  report: Report,
  options: RunOptions = {},
): Promise<number> {
  const notices: [string, Record<string, unknown>][] = []
  const { deps, close } = await depsOf(sandbox, warehouse, { ...options, notices })
  const config = { ...deps.config, sections: { report } }
  const request = begun({ mode: 'sync', job: null, tenants: null, resources: ['shops', 'repair_orders'] })
  await runSync({ ...deps, config, besideRows: refreshBesideRows }, request)
  await close()
  return notices
    .filter(([message]) => message.startsWith('Derived rows were recomputed from'))
    .reduce((sum, [, { records }]) => sum + Number(records), 0)
}

async function expectDays(
  warehouse: Warehouse,
  zoneOf: (shop: unknown, tenant: unknown) => string,
): Promise<void> {
  const orders = await rowsOf(warehouse, 'repair_orders')
  const rows = await rowsOf(warehouse, 'repair_order_totals')
  const at = (format: (there: DateTime) => unknown, zone: string, instant: unknown): unknown =>
    instant === null ? null : format(DateTime.fromISO(String(instant), { zone: 'utc' }).setZone(zone))
  const day = (there: DateTime): unknown => there.toISODate()
  const clock = (there: DateTime): unknown => there.toFormat('yyyy-MM-dd HH:mm:ss')
  const wanted = orders.map(({ tenant_id, shop_id, created_at, started_at, closed_at }) => {
    const zone = zoneOf(shop_id, tenant_id)
    const days = [created_at, started_at, closed_at].map((instant) => at(day, zone, instant))
    return [...days, ...[created_at, closed_at].map((instant) => at(clock, zone, instant))]
  })
  const found = rows.map((row) => [
    ...[row.created_on, row.started_on, row.closed_on, row.created_at_local, row.closed_at_local],
  ])
  expect(found).toEqual(wanted)
}
