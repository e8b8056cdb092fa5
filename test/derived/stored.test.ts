/** The rows derived from orders are stored, replaced, deleted and restored with them, in every warehouse. */
import { describe, expect, it } from 'vitest'
import { known, markDeleted } from '../support/harness/runs.js'
import { bothWarehouses, kept, rowsOf, type Warehouse } from '../support/harness/warehouse.js'
import { labor, type OrderRecord, order, part, stamp, storeOrders } from '../support/world/orders.js'
import { computeAnew } from './anew.js'

const table = 'repair_order_totals'

type Row = Record<string, unknown>
const byId = async (warehouse: Warehouse): Promise<Map<unknown, Row>> =>
  new Map((await rowsOf(warehouse, table)).map((row) => [row.repair_order_id, row]))
const salesOf = async (warehouse: Warehouse): Promise<unknown> =>
  Object.fromEntries([...(await byId(warehouse))].map(([id, row]) => [id, row.sales_cents]))

/** What is derived from orders: their totals, the sums of their services and the nets of their labors. */
const followed = async (warehouse: Warehouse): Promise<Row[][]> => [
  await rowsOf(warehouse, table),
  await rowsOf(warehouse, 'repair_order_services'),
  await rowsOf(warehouse, 'repair_order_labors'),
]

/** The stored values equal those computed from the stored rows: nothing is left of an earlier version. */
async function expectConsistent(warehouse: Warehouse): Promise<void> {
  const before = await followed(warehouse)
  await computeAnew(warehouse)
  expect(await followed(warehouse)).toEqual(before)
}

const at = (second: number, record: OrderRecord): OrderRecord => ({ ...record, updated_at: stamp(second) })
const moving = { id: 77, ...labor(1) }

const remove = (warehouse: Warehouse, id: number, updatedAt: string, askedAt: string) =>
  markDeleted(warehouse, { tenantId: 7, resource: known.byName.get('repair_orders')! }, [
    { id, updatedAt, askedAt },
  ])

describe.each(bothWarehouses())('$name', (kind) => {
  const { open } = kept(kind)

  it("a newer version replaces them; an older one doesn't", async () => {
    const warehouse = await open()
    await storeOrders(warehouse, [at(5, order(1, [{ labors: [labor(1)] }]))], stamp(100))
    await storeOrders(warehouse, [at(6, order(1, [{ labors: [labor(2)] }]))], stamp(90))
    expect(await salesOf(warehouse)).toEqual({ 1: 20_000 })
    await storeOrders(warehouse, [at(4, order(1, [{ labors: [labor(9)] }]))], stamp(110))
    expect(await salesOf(warehouse)).toEqual({ 1: 20_000 })
    expect((await byId(warehouse)).get(1)).toMatchObject({ _synced_at: stamp(90), _deleted_at: null })
    await expectConsistent(warehouse)
  })

  it('an unchanged version writes nothing; a different one with the same instant replaces them', async () => {
    const warehouse = await open()
    const records = [order(1, [{ labors: [labor(1)] }]), order(2, [{ parts: [part(1, 100)] }])]
    await storeOrders(warehouse, records, stamp(100))
    const before = await rowsOf(warehouse, table)
    expect(await storeOrders(warehouse, records, stamp(200))).toMatchObject({ written: 0 })
    expect(await rowsOf(warehouse, table)).toEqual(before)
    await storeOrders(warehouse, [order(1, [{ labors: [labor(3)] }])], stamp(300))
    expect(await salesOf(warehouse)).toEqual({ 1: 30_000, 2: 100 })
  })

  it('a deleted order takes them along, and restores them', async () => {
    const warehouse = await open()
    const record = at(5, order(1, [{ labors: [labor(1)] }]))
    await storeOrders(warehouse, [record, order(2, [])], stamp(100))
    await remove(warehouse, 1, stamp(5), stamp(200))
    const rows = await byId(warehouse)
    expect(rows.get(1)).toMatchObject({
      _deleted_at: stamp(200),
      _synced_at: stamp(200),
      sales_cents: 10_000,
    })
    expect(rows.get(2)).toMatchObject({ _deleted_at: null })
    // A page requested before the deletion was found doesn't bring it back.
    await storeOrders(warehouse, [record], stamp(150))
    expect((await byId(warehouse)).get(1)).toMatchObject({ _deleted_at: stamp(200) })
    await expectConsistent(warehouse)
    await storeOrders(warehouse, [at(5, order(1, [{ labors: [labor(4)] }]))], stamp(300))
    expect((await byId(warehouse)).get(1)).toMatchObject({ _deleted_at: null, sales_cents: 40_000 })
  })

  describe('a line shown by two orders', () => {
    const service = { id: 500, labor_rate_cents: 10_000 }
    const holding = (id: number, more: object[] = []): OrderRecord => ({
      ...order(id, []),
      services: [{ ...service, labors: [moving, ...more] }],
    })

    it('counts in both, whichever is newer, until one of them comes without it', async () => {
      const warehouse = await open()
      await storeOrders(warehouse, [at(5, holding(1, [{ id: 78, ...labor(2) }]))], stamp(100))
      await storeOrders(warehouse, [at(9, holding(2))], stamp(200))
      expect(await salesOf(warehouse)).toEqual({ 1: 30_000, 2: 10_000 })
      await storeOrders(warehouse, [at(4, holding(3))], stamp(300))
      expect(await salesOf(warehouse)).toEqual({ 1: 30_000, 2: 10_000, 3: 10_000 })
      await expectConsistent(warehouse)
      await storeOrders(warehouse, [at(10, order(2, []))], stamp(400))
      expect(await salesOf(warehouse)).toEqual({ 1: 30_000, 2: 0, 3: 10_000 })
      await expectConsistent(warehouse)
    })

    it('counts in both orders of the same page', async () => {
      const warehouse = await open()
      await storeOrders(warehouse, [at(9, holding(2)), at(5, holding(1))], stamp(100))
      expect(await salesOf(warehouse)).toEqual({ 1: 10_000, 2: 10_000 })
      await storeOrders(warehouse, [at(11, order(1, [])), at(10, order(2, []))], stamp(200))
      expect(await salesOf(warehouse)).toEqual({ 1: 0, 2: 0 })
      expect(await rowsOf(warehouse, 'repair_order_labors')).toEqual([])
    })

    it('stays in the order that got it from a deleted one', async () => {
      const warehouse = await open()
      await storeOrders(warehouse, [at(5, holding(1)), at(9, holding(2))], stamp(100))
      await remove(warehouse, 2, stamp(9), stamp(200))
      expect((await byId(warehouse)).get(1)).toMatchObject({ _deleted_at: null, sales_cents: 10_000 })
      await expectConsistent(warehouse)
    })
  })
})
