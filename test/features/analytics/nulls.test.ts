/**
 * Which columns of views may be null, in both warehouses: records that lack what the document promises, with values
 * that nobody would enter on purpose. A column declared as never null has no null there, every other one has some, and
 * keys are unique.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { prepareViews, query } from '../../support/harness/views.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { spoil, starve } from '../../support/world/hostile.js'
import { reconcile } from '../../support/world/notes.js'
import { showTwice } from '../../support/world/twice.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 40, seed: 7, until: '2026-11-20T12:00:00Z' })
showTwice(sandbox)
spoil(sandbox)
starve(sandbox)

const { store } = sandbox
const [tenant = 0] = store.tenantIds
const yesterday = new Date(Date.now() - 86_400_000).toISOString()
const put = (id: number, resource: string, record: object = {}): void =>
  store.put(tenant, resource, { id, updated_at: yesterday, ...record })

// Records with only the fields without which they can't be stored, including an order in each state.
for (const resource of store.resources) put(9_000_000, resource)
const lines = [{ id: 1 }]
const services = [{ id: 1, labors: lines, parts: lines, sublets: lines, hazmats: lines, inspections: lines }]
for (const [i, state] of ['estimate', 'in_progress', 'invoice'].entries())
  put(9_000_001 + i, 'repair_orders', { state, services })
put(9_000_001, 'payments', { repair_order_id: 9_000_003 })
put(9_000_001, 'purchase_records', { line_items: [{}] })

// From before the calendar begins.
put(9_000_007, 'repair_orders', { state: 'invoice', updated_at: '1985-01-01T00:00:00Z' })

// Invoices whose lines each count but whose sum is absurd: of one invoice, of its parts, and of two of a day.
const [inventory = 0] = store.ids(tenant, 'inventories')
const many = Array.from({ length: 1001 }, (_, i) => ({
  id: i + 1,
  quantity: 999_999,
  part_inventory_id: inventory,
}))
const hours = (lines: number): object[] =>
  Array.from({ length: lines }, (_, i) => ({ id: i + 1, hours: 99_999.5 }))
const crowded = (lines: number, shop: number | null): object => ({
  ...{ state: 'invoice', closed_at: yesterday, shop_id: shop },
  services: [
    {
      ...{ id: 1, labor_rate_cents: 1, parts: shop === null ? many : [], canned_job_id: 9_000_001 },
      labors: hours(lines),
    },
  ],
})
put(9_000_001, 'canned_jobs', { labors: hours(10_001) })
put(9_000_004, 'repair_orders', crowded(10_001, null))
put(9_000_005, 'repair_orders', crowded(5001, 1))
put(9_000_006, 'repair_orders', crowded(5001, 1))

/** Orders that are deleted after a first sync. */
const gone = [9_000_008, 9_000_009, 9_000_010]

// A tenant with a shop and nothing else.
const empty = 999
store.addTenant({ id: empty })
store.put(empty, 'shops', { id: 1, updated_at: yesterday })
store.switchOff('notes', empty)

describe.each(bothWarehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await reopen(await kind.viewed())
    for (const id of gone) put(id, 'repair_orders')
    await sync(sandbox, warehouse)
    for (const id of gone) store.remove(tenant, 'repair_orders', id)
    await reconcile(sandbox, warehouse, { resources: ['repair_orders'] })
    await prepareViews(warehouse)
    // A cursor whose first walk is running.
    await warehouse.db.insertInto('sync_cursors').values({ tenant_id: empty, resource: 'unwalked' }).execute()
    // A tenant of a version that didn't record when it was new.
    await warehouse.db
      .updateTable('tenants')
      .set({ rebuild_from: null })
      .where('tenant_id', '=', empty)
      .execute()
  })
  afterAll(() => warehouse.close())

  it.each(views.map((view) => [view.name, view] as const))('%s', async (name, view) => {
    const columns = Object.entries(view.columns)
    const counts = columns.map(([column]) => `count(*) - count("${column}") as "${column}"`)
    const [row = {}] = await query(warehouse, `select count(*) as n, ${counts.join(', ')} from {${name}}`)
    expect(Number(row.n)).toBeGreaterThan(name === 'changes' ? 0 : 2)
    const found = columns.map(([column]) => `${column}: ${Number(row[column]) === 0 ? 'never' : 'may be'}`)
    const said = columns.map(
      ([column, { isAlways = false }]) => `${column}: ${isAlways ? 'never' : 'may be'}`,
    )
    // A whole month of a shop is rarely completely unknown: it may be, but doesn't have to be here.
    if (/^shop_(days|months)$/.test(name))
      expect(said.filter((one) => one.endsWith('never') && !found.includes(one))).toEqual([])
    else expect(found).toEqual(said)
    for (const [column, { isUnique }] of columns)
      if (isUnique) {
        const [{ n } = {}] = await query(warehouse, `select count(distinct "${column}") as n from {${name}}`)
        expect(Number(n), column).toBe(Number(row.n))
      }
  })
})
