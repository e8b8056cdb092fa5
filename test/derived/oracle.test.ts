/**
 * The stored totals equal the oracle for orders whose every value is as odd as possible, and in `npm run test:long` for many
 * of a generated business; a few of those are compared in test/features/analytics/oracle.test.ts.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { isWhole, sized } from '../support/harness/size.js'
import { bothWarehouses, open, warehouses } from '../support/harness/warehouse.js'
import { expectOracle } from '../support/oracle/business/stored.js'
import { hazmat, labor, order, part, stamp, storeOrders, sublet } from '../support/world/orders.js'
import { computeAnew } from './anew.js'

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 6 })
const quantity = maybe(
  fc.oneof(
    fc.constantFrom(0, 1, 2, 0.5, -1, 0.35, 1.333, 0.1 + 0.2),
    fc.integer({ min: -5000, max: 20_000 }).map((n) => n / 1000),
  ),
)
const cents = maybe(fc.oneof(fc.constantFrom(0, 1, 5, 10_250), fc.integer({ min: -5000, max: 15_000 })))
const flag = fc.constantFrom(true, true, false, null)
const rate = maybe(
  fc.oneof(
    fc.constantFrom(0, 10, 8.25),
    fc.integer({ min: 0, max: 150_000 }).map((n) => n / 10_000),
  ),
)
const few = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 })
const service = fc.record({
  labor_rate_cents: cents,
  labors: few(fc.tuple(quantity, flag).map((given) => labor(...given))),
  parts: few(fc.tuple(quantity, cents, cents, flag).map((given) => part(...given))),
  sublets: few(fc.tuple(cents, cents, flag).map((given) => sublet(...given))),
  hazmats: few(fc.tuple(quantity, cents, flag).map((given) => hazmat(...given))),
})
const more = fc.record({
  taxable: flag,
  labor_tax_rate: rate,
  part_tax_rate: rate,
  sublet_tax_rate: rate,
  hazmat_tax_rate: rate,
  supply_fee_cents: cents,
  labor_discount_cents: maybe(fc.constantFrom(0, 100, 99_999)),
  part_discount_cents: maybe(fc.integer({ min: -500, max: 50_000 })),
  labor_discount_percentage: rate,
  part_discount_percentage: rate,
  payments: few(fc.record({ amount_cents: cents })),
})
const orders = fc
  .array(fc.tuple(fc.array(service, { maxLength: 3 }), more), { minLength: 300, maxLength: 300 })
  .map((list) => list.map(([services, own], i) => order(i + 1, services, own)))

/** When the next orders are requested, in seconds. */
let stored = 100

describe.each(bothWarehouses())('$name', (kind) => {
  it('matches for orders with any values', async () => {
    const warehouse = await open(kind)
    await fc.assert(
      fc.asyncProperty(orders, async (records) => {
        await storeOrders(warehouse, records, stamp(++stored))
        await expectOracle(warehouse)
      }),
      { numRuns: sized(2, 3), endOnFailure: true },
    )
  })
  it.runIf(isWhole() && warehouses().includes(kind))(
    'matches for 6,000 orders of a generated business, as stored and as computed anew',
    async () => {
      const sandbox = await sandboxOfFile({ tenants: [{ id: 101, repairOrders: 6000 }] })
      const warehouse = await open(kind)
      await sync(sandbox, warehouse)
      expect(await expectOracle(warehouse)).toBeGreaterThan(5900)
      await computeAnew(warehouse)
      expect(await expectOracle(warehouse)).toBeGreaterThan(5900)
    },
  )
})
