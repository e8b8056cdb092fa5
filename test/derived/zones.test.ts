/**
 * Days follow the shops' zones: the configured ones, or what a shop says about itself, even if it says so late. Which days these
 * are, the oracle of the business knows.
 */
import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/base/clock.js'
import { Skip } from '../../src/engine/base/errors.js'
import type { Sandbox } from '../../src/sandbox/index.js'
import { begun, depsOf, type RunOptions, runSync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { readRules, refreshBesideRows, reportConfig } from '../support/harness/views.js'
import { type Kind, reopen, rowsOf, warehouses } from '../support/harness/warehouse.js'
import { businessesOf, expectedRows } from '../support/oracle/business/rows.js'
import { worldOf } from '../support/oracle/business/sandboxworld.js'
import { between } from '../support/world/between.js'

/** A warehouse and its source, whose settings may change from run to run. */
async function place(kind: Kind, sandbox: Sandbox) {
  let report = reportConfig({ timeZone: 'Europe/Berlin' })
  const warehouse = await reopen({
    ...(await kind.migrated()),
    readRules: (writing, tenantId) => readRules(writing, report, systemClock.nowMicros(), tenantId),
  })
  return {
    warehouse,
    set: (shopTimeZones: Readonly<Record<string, string>>): void => {
      report = { ...report, shopTimeZones }
    },
    /** Runs, and returns the number of recomputed records. */
    run: async (options: RunOptions = {}): Promise<number> => {
      const notices: [string, Record<string, unknown>][] = []
      const { deps, close } = await depsOf(sandbox, warehouse, { ...options, notices })
      const config = { ...deps.config, sections: { report } }
      const request = begun({ mode: 'sync', job: null, tenants: null, resources: ['shops', 'repair_orders'] })
      await runSync({ ...deps, config, besideRows: refreshBesideRows }, request)
      await close()
      return notices
        .filter(([message]) => message.startsWith('Derived rows were recomputed from'))
        .reduce((sum, [, { records }]) => sum + Number(records), 0)
    },
    expectDays: async (): Promise<void> => {
      const columns = ['created_on', 'started_on', 'closed_on', 'created_at_local', 'closed_at_local']
      const shown = (rows: readonly Record<string, unknown>[]): unknown =>
        Object.fromEntries(
          rows.map((row) => [row.repair_order_key, columns.map((name) => row[name] ?? null)]),
        )
      const expected = expectedRows('orders', businessesOf(worldOf(sandbox, report)))
      expect(shown(await rowsOf(warehouse, 'repair_order_totals'))).toEqual(shown(expected))
    },
  }
}

describe.each(warehouses())('$name', (kind) => {
  it('are computed with the orders, and recomputed when a zone is added or changes', async () => {
    const sandbox = await sandboxOfFile({ tenants: [{ id: 101 }], repairOrders: 60, seed: 3 })
    const { set, run, expectDays } = await place(kind, sandbox)
    // The shops give their zones, and are read before their orders: no row is computed twice, and nothing is requested
    // twice.
    expect(await run()).toBe(0)
    await expectDays()
    const asked = sandbox.requests.map(({ resource }) => resource)
    const lists = ['shops', 'repair_orders']
    expect(asked.filter((resource) => lists.includes(String(resource)))).toEqual(lists)
    expect(await run()).toBe(0)

    const shops = sandbox.store.ids(101, 'shops')
    expect(shops.length).toBeGreaterThan(1)
    set({ [`101/${shops[0]}`]: 'Asia/Kathmandu' })
    expect(await run()).toBe(60)
    await expectDays()
    expect(await run()).toBe(0)

    // Shops give their zones after their orders were stored. The configuration takes precedence.
    for (const id of shops) sandbox.store.change(101, 'shops', id, { time_zone: 'America/Los_Angeles' })
    expect(await run()).toBe(60)
    await expectDays()
    expect(await run()).toBe(0)
  })

  it("orders don't wait for shops that fail or come late, and are corrected when the shops have come", async () => {
    const sandbox = await sandboxOfFile({ tenants: [{ id: 101 }, { id: 102 }], repairOrders: 20, seed: 3 })
    const { run, expectDays } = await place(kind, sandbox)
    const orders: string[] = []
    let haveOrdersCome = (): void => {}
    const ordersCome = new Promise<void>((resolve) => {
      haveOrdersCome = resolve
    })
    const around = between(async ({ tenantId, path }, ask) => {
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
    expect(await run({ around, clock })).toBe(20)
    expect(orders.sort()).toEqual(['101', '102'])
    expect(await run()).toBe(20)
    await expectDays()
  })
})
