/**
 * The sandbox computes the bills of its invoices by itself, and has them paid: to the cent what the oracle of the business
 * computes. The orders have everything that makes a bill hard; without it, that would show nothing.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../src/sandbox/index.js'
import { sized } from '../support/harness/size.js'
import { type Fields, list, unit } from '../support/oracle/business/amounts.js'
import { type Bill, billOf } from '../support/oracle/business/bills.js'
import { HandClock } from '../support/world/clocks.js'

const has =
  (kind: Bill['lines'][number]['kind'], test: (item: Fields) => boolean) =>
  ({ lines }: Bill): boolean =>
    lines.some((line) => line.kind === kind && test(line.item))

const isHalfACent = ({ lines }: Bill): boolean =>
  lines.some(({ units, price }) => ((units ?? 0n) * BigInt(Number(price ?? 0))) % unit === unit / 2n)

const hard: Readonly<Record<string, (bill: Bill) => boolean>> = {
  'an order that is not taxable': ({ order }) => order.taxable === false,
  'labor that is not taxable': has('labor', ({ taxable }) => !taxable),
  'a part that is not taxable': has('part', ({ taxable }) => !taxable),
  'a taxed sublet': (bill) => has('sublet', ({ taxable }) => taxable === true)(bill) && bill.taxes[2] !== 0n,
  'a taxed hazmat': (bill) => has('hazmat', ({ taxable }) => taxable === true)(bill) && bill.taxes[3] !== 0n,
  'a taxed fee': ({ order, fee, taxes }) => order.taxable === true && fee !== 0n && taxes[1] !== 0n,
  'a refund': ({ order }) => list(order, 'payments').some((one) => Number(one.amount_cents) < 0),
  'a deposit': ({ order }) => list(order, 'payments').some(({ notes }) => notes === 'Deposit'),
  'a core that came back': has('part', ({ quantity }) => Number(quantity) < 0),
  'several labors of a service': ({ order }) =>
    list(order, 'services').some((service) => list(service, 'labors').length > 1),
  'labor of no hours': has('labor', ({ hours }) => hours === 0),
  'hours with all digits of a division': has('labor', ({ hours }) => String(hours).length > 10),
  'a line of half a cent': isHalfACent,
  'a labor discount in cents': ({ order }) => Number(order.labor_discount_cents) > 0,
  'a labor discount in percent': ({ order }) => order.labor_discount_percentage !== null,
  'a parts discount in cents': ({ order }) => Number(order.part_discount_cents) > 0,
  'a parts discount in percent': ({ order }) => order.part_discount_percentage !== null,
  'no fee': ({ fee }) => fee === null,
  'a part without a price': has('part', ({ quoted_price_cents }) => quoted_price_cents === null),
  'a part without a cost': has('part', ({ cost_cents }) => cost_cents === null),
  'a service without a rate': ({ order }) =>
    list(order, 'services').some(({ labor_rate_cents }) => labor_rate_cents === null),
}

describe('the payments of a generated business', () => {
  let bills: readonly Bill[]
  let payments: readonly Fields[]
  let transactions: readonly Fields[]

  beforeAll(async () => {
    const { store, close } = await createSandbox({
      tenants: [{ id: 1, repairOrders: sized(2500, 4000), shops: 3 }],
      seed: 7,
      clock: new HandClock('2026-03-03T20:00:00Z'),
    })
    bills = store.all(1, 'repair_orders').map(billOf)
    payments = store.all(1, 'payments')
    transactions = store.all(1, 'payment_transactions')
    await close()
  })

  it('equal the bill to the cent in every invoice whose record tells all of it', () => {
    const known = bills.filter(
      (bill) =>
        bill.order.state === 'invoice' && bill.total !== null && list(bill.order, 'payments').length > 0,
    )
    expect(known.length).toBeGreaterThan(bills.length * 0.8)
    expect(
      known.filter(({ balance }) => balance !== 0n).map(({ order, balance }) => [order.id, balance]),
    ).toEqual([])
  })

  it('are the same in the list of payments, on the order and by card', () => {
    const listed = new Map<unknown, bigint>()
    for (const { repair_order_id: order, amount_cents } of payments)
      listed.set(order, (listed.get(order) ?? 0n) + BigInt(Number(amount_cents)))
    for (const { order, paid } of bills)
      expect([order.id, listed.get(order.id) ?? 0n]).toEqual([order.id, paid])
    expect(
      transactions.filter(({ payment_id, status }) => (payment_id === null) === (status === 'approved')),
    ).toEqual([])
  })

  it('come from orders with everything that makes a bill hard', () => {
    const invoices = bills.filter(({ order }) => order.state === 'invoice')
    const found = Object.entries(hard).map(
      ([what, isSuch]) => [what, invoices.filter(isSuch).length] as const,
    )
    expect(found.filter(([, count]) => count < 5)).toEqual([])
    expect(invoices.some(({ isDiscountTooLarge }) => isDiscountTooLarge)).toBe(true)
  })
})
