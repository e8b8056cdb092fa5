/** The rows derived from orders are stored, replaced, deleted and restored with them (stored.txt), in every warehouse. */
import { expect } from 'vitest'
import { known, markDeleted } from '../support/harness/runs.js'
import { bothWarehouses, kept, rowsOf, type Warehouse } from '../support/harness/warehouse.js'
import { labor, type OrderRecord, order, stamp, storeOrders } from '../support/world/orders.js'
import { Steps, storyTests, type WordsOf } from '../support/world/stories.js'
import { computeAnew } from './anew.js'

const table = 'repair_order_totals'

/** `1: 2 hours`, `1 of 5: service 500 with labor 77 78`; the order, its version, and what it has. */
function orderOf(text: string): OrderRecord {
  const [, id, version = '0', hours, labors = ''] =
    /^(\d+)(?: of (\d+))?: (?:(\d+) hours|service 500 with labor ([\d ]+)|nothing)$/.exec(text) ?? []
  if (id === undefined) throw new Error(`Found ${text}, expected an order`)
  const own = hours === undefined ? [] : [{ labors: [labor(Number(hours))] }]
  const shown = labors
    .split(' ')
    .filter(Boolean)
    .map((line) => ({ id: Number(line), ...labor(1) }))
  return {
    ...order(Number(id), own),
    updated_at: stamp(Number(version)),
    ...(labors && { services: [{ id: 500, labor_rate_cents: 10_000, labors: shown }] }),
  }
}

const tables = [table, 'repair_order_services', 'repair_order_labors']
const followed = (warehouse: Warehouse): Promise<unknown[]> =>
  Promise.all(tables.map((name) => rowsOf(warehouse, name)))

const words: WordsOf<Warehouse> = {
  'at N come REST': async (warehouse, second, text = '') => {
    const { written } = await storeOrders(warehouse, text.split(', ').map(orderOf), stamp(Number(second)))
    return `${written === 0 ? 'writes nothing' : 'writes'}`
  },
  'at N the deletion of N of N': (warehouse, second, id, version) =>
    markDeleted(warehouse, { tenantId: 7, resource: known.byName.get('repair_orders')! }, [
      { id: Number(id), updatedAt: stamp(Number(version)), askedAt: stamp(Number(second)) },
    ]),
  sales: async (warehouse) => {
    const second = (at: unknown): number => (Date.parse(String(at)) - Date.parse(stamp(0))) / 1000
    const rows = await rowsOf(warehouse, table)
    return rows
      .map(({ repair_order_id: id, sales_cents, _synced_at, _deleted_at }) => {
        const deleted = _deleted_at === null ? '' : `, deleted at ${second(_deleted_at)}`
        return `${id}: ${sales_cents} at ${second(_synced_at)}${deleted}`
      })
      .join('; ')
  },
  lines: async (warehouse) =>
    (await rowsOf(warehouse, 'repair_order_labors')).map(({ id }) => id).join(' ') || 'none',
  // The stored values equal those computed from the stored rows: nothing is left of an earlier version.
  'compute anew': async (warehouse) => {
    const before = await followed(warehouse)
    await computeAnew(warehouse)
    expect(await followed(warehouse)).toEqual(before)
  },
}

storyTests(
  'test/derived/stored.txt',
  new Steps(words),
  (kind) => {
    const { open } = kept(kind)
    return () => open()
  },
  bothWarehouses(),
)
