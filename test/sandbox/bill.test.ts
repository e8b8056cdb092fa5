/**
 * The bills of the sandbox: some computed by hand, and those of a generated business against a second implementation of
 * the formula, here with fractions. Wrong readings must miss; otherwise the bills would show nothing.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Billed, billionths, billTotal, nearest } from '../../src/sandbox/data/bill.js'
import type { Order } from '../../src/sandbox/data/order.js'
import { createSandbox } from '../../src/sandbox/index.js'
import { HandClock } from '../support/world/clocks.js'

type Labor = readonly [hours: number, rate: number | null, taxable?: boolean]
type Part = readonly [quantity: number, price: number | null, taxable?: boolean]

const bill = (labors: readonly Labor[], parts: readonly Part[], more: Partial<Billed> = {}): Billed => ({
  taxable: true,
  part_tax_rate: 0,
  labor_tax_rate: 0,
  sublet_tax_rate: 0,
  hazmat_tax_rate: 0,
  part_discount_cents: 0,
  labor_discount_cents: 0,
  part_discount_percentage: null,
  labor_discount_percentage: null,
  supply_fee_cents: 0,
  ...more,
  services: [
    ...labors.map(([hours, labor_rate_cents, taxable = true]) => ({
      labor_rate_cents,
      labors: [{ hours, taxable }],
      parts: [],
      sublets: [],
      hazmats: [],
    })),
    {
      labor_rate_cents: null,
      labors: [],
      parts: parts.map(([quantity, quoted_price_cents, taxable = true]) => ({
        quantity,
        quoted_price_cents,
        taxable,
      })),
      sublets: [],
      hazmats: [],
    },
    ...(more.services ?? []),
  ],
})

const extra = (sublet: number, hazmat: readonly [number, number]): Partial<Billed> => ({
  services: [
    {
      labor_rate_cents: null,
      labors: [],
      parts: [],
      sublets: [{ price_cents: sublet, taxable: true }],
      hazmats: [{ quantity: hazmat[0], fee_cents: hazmat[1], taxable: true }],
    },
  ],
})

const off = (fields: Partial<Billed>): Partial<Billed> => ({
  part_discount_cents: null,
  labor_discount_cents: null,
  ...fields,
})

describe('a bill', () => {
  it.each<[string, Billed, number]>([
    ['half a cent goes up', bill([[0.35, 10250]], []), 3588],
    ['half a cent of a part that came back goes down', bill([], [[-0.5, 101]]), -51],
    [
      'each line is rounded for itself',
      bill(
        [
          [0.25, 101],
          [0.25, 101],
        ],
        [],
      ),
      50,
    ],
    ['hours by the clock', bill([[50 / 60, 12550]], []), 10458],
    ['a float of three tenths', bill([[0.1 + 0.2, 12345]], []), 3704],
    ['no rate', bill([[1, null]], []), 0],
    ['no price', bill([], [[2, null]]), 0],
    [
      'a core that came back',
      bill(
        [],
        [
          [1, 16800],
          [1, 2500],
          [-1, 2500],
        ],
      ),
      16800,
    ],
    [
      'tax on taxed lines alone',
      bill(
        [],
        [
          [1, 1000],
          [1, 1000, false],
        ],
        { part_tax_rate: 8.25 },
      ),
      2083,
    ],
    ['half a cent of tax goes up', bill([], [[1, 1000]], { part_tax_rate: 8.25 }), 1083],
    ['the fee is taxed as a part', bill([], [], { supply_fee_cents: 1000, part_tax_rate: 8.25 }), 1083],
    [
      'a discount bears tax in proportion',
      bill(
        [],
        [
          [1, 1000],
          [1, 1000, false],
        ],
        { part_tax_rate: 10, part_discount_cents: 500 },
      ),
      1575,
    ],
    ['a discount in percent', bill([[1, 9999]], [], off({ labor_discount_percentage: 7.55 })), 9244],
    [
      'both in percent',
      bill([[1, 10_000]], [[1, 10_000]], off({ labor_discount_percentage: 10, part_discount_percentage: 5 })),
      18_500,
    ],
    [
      'a discount beyond its gross is held to it',
      bill([[1, 5000]], [[1, 100]], { labor_discount_cents: 9000 }),
      100,
    ],
    [
      'an order that is not taxable',
      bill([[1, 5000]], [[1, 100]], { taxable: false, part_tax_rate: 8, labor_tax_rate: 8 }),
      5100,
    ],
    [
      'sublets and hazmats have rates of their own',
      bill([], [], { sublet_tax_rate: 6.25, hazmat_tax_rate: 9.045, ...extra(9500, [2, 350]) }),
      9500 + 594 + 700 + 63,
    ],
    ['no fee: that of the settings', bill([[1, 10_000]], [], { supply_fee_cents: null }), 10_500],
  ])('%s', (_, order, total) => {
    expect(billTotal(order)).toBe(total)
  })

  it('uses nine decimals, rounded half away from zero', () => {
    expect([1.0000000005, -1.0000000005, 1 / 3, 1e-7, 5e-10, 4e-10].map(billionths)).toEqual([
      1_000_000_001n,
      -1_000_000_001n,
      333_333_333n,
      100n,
      1n,
      0n,
    ])
    expect([nearest(5n, 2n), nearest(-5n, 2n), nearest(4n, 3n)]).toEqual([3n, -3n, 1n])
  })
})

/* A second implementation of the formula: fractions of whole numbers, nothing shared with the sandbox. */

interface Fraction {
  readonly over: bigint
  readonly under: bigint
}

const fraction = (over: bigint, under = 1n): Fraction =>
  under < 0n ? { over: -over, under: -under } : { over, under }
const decimal = (value: number): Fraction => fraction(BigInt(value.toFixed(9).replace('.', '')), 10n ** 9n)
const cents = (value: number | null): Fraction => fraction(BigInt(value ?? 0))
const plus = (a: Fraction, b: Fraction): Fraction =>
  fraction(a.over * b.under + b.over * a.under, a.under * b.under)
const minus = (a: Fraction, b: Fraction): Fraction => plus(a, fraction(-b.over, b.under))
const times = (...all: Fraction[]): Fraction =>
  all.reduce((a, b) => fraction(a.over * b.over, a.under * b.under), fraction(1n))
const by = (a: Fraction, b: Fraction): Fraction =>
  b.over === 0n ? fraction(0n) : fraction(a.over * b.under, a.under * b.over)
const total = (all: readonly Fraction[]): Fraction => all.reduce(plus, fraction(0n))

function whole({ over, under }: Fraction, toEven = false): Fraction {
  const size = over < 0n ? -over : over
  const down = size / under
  const twice = (size % under) * 2n
  const isUp = twice > under || (twice === under && (!toEven || down % 2n === 1n))
  return fraction((over < 0n ? -1n : 1n) * (isUp ? down + 1n : down))
}

interface Reading {
  readonly toEven?: true
  readonly lines?: 'as they are'
  readonly tax?: 'by line' | 'once'
  readonly fee?: 'untaxed'
  readonly discount?: 'after tax'
}

type Line = readonly [amount: Fraction, taxable: boolean]

function read(order: Order, reading: Reading = {}): number {
  const round = (value: Fraction): Fraction => whole(value, reading.toEven)
  const line = (value: Fraction, taxable: boolean): Line => [reading.lines ? value : round(value), taxable]
  const { services } = order
  const kinds: readonly (readonly [Line[], number | null, number | null, number])[] = [
    [
      services.flatMap((s) =>
        s.labors.map((l) => line(times(decimal(l.hours), cents(s.labor_rate_cents)), l.taxable)),
      ),
      order.labor_discount_cents,
      order.labor_discount_percentage,
      order.labor_tax_rate,
    ],
    [
      services.flatMap((s) =>
        s.parts.map((p) => line(times(decimal(p.quantity), cents(p.quoted_price_cents)), p.taxable)),
      ),
      order.part_discount_cents,
      order.part_discount_percentage,
      order.part_tax_rate,
    ],
    [
      services.flatMap((s) => s.sublets.map((p) => line(cents(p.price_cents), p.taxable))),
      0,
      null,
      order.sublet_tax_rate,
    ],
    [
      services.flatMap((s) =>
        s.hazmats.map((h) => line(times(decimal(h.quantity), cents(h.fee_cents)), h.taxable)),
      ),
      0,
      null,
      order.hazmat_tax_rate,
    ],
  ]
  const fee = cents(order.supply_fee_cents)
  const taxes: Fraction[] = []
  let net = fee
  for (const [index, [lines, given, percentage, rate]] of kinds.entries()) {
    const gross = total(lines.map(([amount]) => amount))
    const asked =
      given === null ? round(times(gross, decimal(percentage ?? 0), fraction(1n, 100n))) : cents(given)
    const rest = minus(gross, asked)
    net = plus(net, rest)
    const left = reading.discount ? fraction(1n) : by(rest, gross)
    const of = (amount: Fraction): Fraction => times(amount, decimal(rate), fraction(1n, 100n))
    const taxed = lines.filter(([, taxable]) => taxable).map(([amount]) => times(amount, left))
    if (index === 1 && !reading.fee) taxed.push(fee)
    taxes.push(...(reading.tax === 'by line' ? taxed.map((amount) => round(of(amount))) : [of(total(taxed))]))
  }
  const tax = reading.tax === 'once' ? [round(total(taxes))] : taxes.map(round)
  return Number(round(order.taxable ? plus(net, total(tax)) : net).over)
}

/** Nothing is missing and no discount is beyond its gross: what the document says is enough for the total. */
function isCheckable(order: Order): boolean {
  const { services } = order
  const gross = (amounts: number[]) => amounts.reduce((sum, amount) => sum + amount, 0)
  const labor = gross(services.flatMap((s) => s.labors.map((l) => l.hours * (s.labor_rate_cents ?? 0))))
  const parts = gross(services.flatMap((s) => s.parts.map((p) => p.quantity * (p.quoted_price_cents ?? 0))))
  return (
    order.supply_fee_cents !== null &&
    services.every(
      (s) => s.labor_rate_cents !== null && s.parts.every((p) => p.quoted_price_cents !== null),
    ) &&
    Number(order.labor_discount_cents) <= Math.max(0, labor) + 0.5 &&
    Number(order.part_discount_cents) <= Math.max(0, parts) + 0.5
  )
}

describe('the payments of a generated business', () => {
  let invoices: Order[]
  let paid: (readonly [Order, cents: number])[]
  beforeAll(async () => {
    const sandbox = await createSandbox({
      tenants: [{ id: 1, repairOrders: 4000, shops: 3 }],
      seed: 7,
      clock: new HandClock('2026-03-03T20:00:00Z'),
    })
    const orders = sandbox.store.all(1, 'repair_orders') as unknown as Order[]
    invoices = orders.filter(({ state }) => state === 'invoice')
    await sandbox.close()
    paid = invoices
      .filter((order) => order.payments.length > 0 && isCheckable(order))
      .map((order) => [order, order.payments.reduce((sum, { amount_cents }) => sum + amount_cents, 0)])
  })

  it('equal the bill to the cent, in every invoice that can be checked', () => {
    expect(paid.length).toBeGreaterThan(3500)
    expect(
      paid.filter(([order, sum]) => read(order) !== sum).map(([order, sum]) => [order.id, read(order), sum]),
    ).toEqual([])
  })

  it.each<[string, Reading, number]>([
    ['half to even', { toEven: true }, 0.05],
    ['lines that are not rounded', { lines: 'as they are' }, 0.02],
    ['tax by line', { tax: 'by line' }, 0.1],
    ['tax once an order', { tax: 'once' }, 0.05],
    ['a fee without tax', { fee: 'untaxed' }, 0.5],
    ['tax before the discount', { discount: 'after tax' }, 0.03],
  ])('do not equal the bill under a wrong reading: %s', (_, reading, least) => {
    const missed = paid.filter(([order, sum]) => read(order, reading) !== sum).length / paid.length
    expect(missed).toBeGreaterThan(least)
  })

  it.each<[string, (order: Order) => boolean, number]>([
    ['an order that is not taxable', ({ taxable }) => !taxable, 50],
    [
      'labor that is not taxable',
      ({ services }) => services.some((s) => s.labors.some((l) => !l.taxable)),
      50,
    ],
    [
      'a part that is not taxable',
      ({ services }) => services.some((s) => s.parts.some((p) => !p.taxable)),
      50,
    ],
    [
      'a taxed sublet',
      ({ services, sublet_tax_rate: rate }) =>
        rate > 0 && services.some((s) => s.sublets.some((l) => l.taxable)),
      50,
    ],
    [
      'a taxed hazmat',
      ({ services, hazmat_tax_rate: rate }) =>
        rate > 0 && services.some((s) => s.hazmats.some((h) => h.taxable)),
      50,
    ],
    ['a refund', ({ payments }) => payments.some(({ amount_cents }) => amount_cents < 0), 20],
    ['a deposit', ({ payments }) => payments.some(({ notes }) => notes === 'Deposit'), 50],
    [
      'a core that came back',
      ({ services }) => services.some((s) => s.parts.some((p) => p.quantity < 0)),
      50,
    ],
    ['several labors of a service', ({ services }) => services.some((s) => s.labors.length > 1), 200],
    ['labor of no hours', ({ services }) => services.some((s) => s.labors.some((l) => l.hours === 0)), 10],
    [
      'hours with all digits of a division',
      ({ services }) => services.some((s) => s.labors.some((l) => String(l.hours).length > 10)),
      100,
    ],
    ['a labor discount in cents', (order) => Number(order.labor_discount_cents) > 0, 20],
    ['a labor discount in percent', (order) => order.labor_discount_percentage !== null, 20],
    ['a parts discount in cents', (order) => Number(order.part_discount_cents) > 0, 20],
    ['a parts discount in percent', (order) => order.part_discount_percentage !== null, 20],
    ['no fee', (order) => order.supply_fee_cents === null, 20],
    [
      'a part without a price',
      ({ services }) => services.some((s) => s.parts.some((p) => p.quoted_price_cents === null)),
      5,
    ],
    [
      'a part without a cost',
      ({ services }) => services.some((s) => s.parts.some((p) => p.cost_cents === null)),
      5,
    ],
    ['a service without a rate', ({ services }) => services.some((s) => s.labor_rate_cents === null), 5],
  ])('come from orders with everything that makes it hard: %s', (_, has, least) => {
    expect(invoices.filter(has).length).toBeGreaterThanOrEqual(least)
  })
})
