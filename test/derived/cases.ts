/**
 * The totals of repair orders, computed by hand from docs/totals.md: each sentence of the formula, and each question
 * that the API documentation leaves open, has a case. Amounts are cents. Unless a case says otherwise, an order is taxable
 * at 10 percent and has no supply fee.
 */
import {
  hazmat,
  inspection,
  labor,
  type OrderRecord,
  order,
  part,
  type ServiceOfOrder,
  stamp,
  sublet,
} from '../support/world/orders.js'

export interface TotalsCase {
  readonly name: string
  readonly record: OrderRecord
  readonly row: Readonly<Record<string, unknown>>
  /**
   * By array: amount, discount, tax and cost of each line, in the order of the record. For services: billionths of
   * hours, labor and its discount, parts and their discount, sublets, hazmats, cost, gross profit, lines without hours, day and clock of
   * completion.
   */
  readonly nets?: Nets | undefined
}

type Nets = Readonly<Record<string, readonly (readonly (number | string | null)[])[]>>
type Row = Readonly<Record<string, unknown>>
type Written = readonly [name: string, services: readonly ServiceOfOrder[], row: Row, more?: Row, nets?: Nets]

const unknownTotal = { total_cents: null, balance_cents: null, total_unknown: true }

const lines: Written[] = [
  [
    'an order without services comes to nothing',
    [],
    {
      repair_order_key: '7-1',
      sales_cents: 0,
      tax_cents: 0,
      total_cents: 0,
      gross_profit_cents: 0,
      labor_hours: 0,
      payments: 0,
      paid_cents: 0,
      lines_without_price: 0,
      total_unknown: false,
    },
  ],
  [
    'labor is hours times the rate of its service, taxed',
    [{ labor_rate_cents: 12_000, labors: [labor(1.5)] }],
    {
      labor_hours: 1.5,
      rated_labor_hours: 1.5,
      labor_cents: 18_000,
      sales_cents: 18_000,
      labor_tax_cents: 1800,
      tax_cents: 1800,
      total_cents: 19_800,
      gross_profit_cents: 18_000,
    },
  ],
  [
    'half a cent rounds away from zero',
    [{ labor_rate_cents: 10_250, labors: [labor(0.35)] }],
    { labor_cents: 3588 },
  ],
  [
    'so does half a cent below zero',
    [{ labor_rate_cents: 10_250, labors: [labor(-0.35)] }],
    { labor_cents: -3588 },
  ],
  [
    'each line is rounded, not their sum',
    [{ labor_rate_cents: 10_250, labors: [labor(0.35), labor(0.35)] }],
    { labor_cents: 7176, labor_hours: 0.7 },
  ],
  ['a quantity has decimals too', [{ parts: [part(2.5, 333)] }], { parts_cents: 833, parts_tax_cents: 83 }],
  [
    'hours enter with nine decimals: the noise of a float is no price',
    [{ labor_rate_cents: 1, labors: [labor(0.49999999999999994)] }],
    { labor_cents: 1, labor_hours: 0.5 },
  ],
  [
    'the sum of 0.1 and 0.2 is 0.3',
    [{ labor_rate_cents: 5, labors: [labor(0.1 + 0.2)] }],
    { labor_cents: 2, labor_hours: 0.3 },
  ],
  [
    'the tenth decimal is rounded into the ninth',
    [{ labor_rate_cents: 999_999_999, labors: [labor(0.0000000005), labor(0.0000000004)] }],
    { labor_cents: 1, lines_without_price: 0 },
  ],
  [
    'a number that no double holds keeps its digits',
    [{ parts: [part('1.000000001', 999_999_999)] }],
    { parts_cents: 1_000_000_000 },
  ],
  [
    'several labors and services add up, each at its own rate',
    [
      { labor_rate_cents: 10_000, labors: [labor(1), labor(0.5)] },
      { labor_rate_cents: 12_000, labors: [labor(2)] },
    ],
    { labor_cents: 39_000, labor_hours: 3.5, labor_tax_cents: 3900 },
  ],
  [
    'a service that is not completed counts',
    [{ completed: false, labors: [labor(1)] }],
    { labor_cents: 10_000, total_cents: 11_000 },
  ],
  [
    'a sublet is its price, and has a cost',
    [{ sublets: [sublet(5000, 3000)] }],
    {
      sublets_cents: 5000,
      sublets_cost_cents: 3000,
      sublets_tax_cents: 500,
      gross_profit_cents: 2000,
      total_cents: 5500,
    },
  ],
  [
    'a hazmat is quantity times fee, and has no cost',
    [{ hazmats: [hazmat(3, 250)] }],
    { hazmats_cents: 750, hazmats_tax_cents: 75, gross_profit_cents: 750, lines_without_cost: 0 },
  ],
  [
    'the cost of a part is rounded by line',
    [{ parts: [part(0.5, 1000, 301), part(0.5, 1000, 301)] }],
    { parts_cents: 1000, parts_cost_cents: 302, gross_profit_cents: 698 },
  ],
  [
    'a returned core counts as it is sent',
    [{ parts: [part(1, 9000, 4000), part(-1, 5000, 3000)] }],
    { parts_cents: 4000, parts_cost_cents: 1000, gross_profit_cents: 3000, parts_tax_cents: 400 },
  ],
]

const discounts: Written[] = [
  [
    'a discount in cents',
    [{ parts: [part(1, 10_000)] }],
    { parts_discount_cents: 1500, sales_cents: 8500, parts_tax_cents: 850, total_cents: 9350 },
    { part_discount_cents: 1500 },
  ],
  [
    'a discount in percent is rounded once',
    [{ labor_rate_cents: 10_010, labors: [labor(1)] }],
    { labor_discount_cents: 756, sales_cents: 9254, labor_tax_cents: 925 },
    { labor_discount_percentage: 7.55 },
  ],
  [
    'half a cent of discount rounds away from zero',
    [{ parts: [part(1, 1004)] }],
    { parts_discount_cents: 126 },
    { part_discount_percentage: 12.5 },
  ],
  [
    'a percentage of less than nothing is a discount below zero',
    [{ parts: [part(-1, 1004)] }],
    { parts_discount_cents: -126, sales_cents: -878, discount_exceeds_gross: false },
    { part_discount_percentage: 12.5 },
  ],
  [
    'the cents go before the percentage',
    [{ labors: [labor(1)] }],
    { labor_discount_cents: 100 },
    { labor_discount_cents: 100, labor_discount_percentage: 50 },
  ],
  [
    'a discount of no cents goes before the percentage too',
    [{ labors: [labor(1)] }],
    { labor_discount_cents: 0 },
    { labor_discount_cents: 0, labor_discount_percentage: 50 },
  ],
  [
    'a discount is on taxable and other lines in proportion',
    [{ parts: [part(1, 600), part(1, 400, 0, false)] }],
    { parts_discount_cents: 100, parts_tax_cents: 54, sales_cents: 900 },
    { part_discount_cents: 100 },
  ],
  [
    'the share is no rounded number',
    [{ labor_rate_cents: 100, labors: [labor(1), labor(2, false)] }],
    { labor_discount_cents: 50, labor_tax_cents: 8 },
    { labor_discount_cents: 50 },
  ],
  [
    'a discount beyond its gross takes all of it and nothing of other kinds, with a flag',
    [{ labors: [labor(0.1)], parts: [part(1, 3000, 1200)] }],
    {
      labor_cents: 1000,
      labor_discount_cents: 1000,
      sales_cents: 3000,
      labor_tax_cents: 0,
      total_cents: 3300,
      gross_profit_cents: 1800,
      exempt_sales_cents: 0,
      taxable_sales_cents: 3000,
      discount_exceeds_gross: true,
    },
    { labor_discount_cents: 1500 },
  ],
  [
    'a discount of more than all percent, too',
    [{ parts: [part(1, 1000)] }],
    { parts_discount_cents: 1000, sales_cents: 0, discount_exceeds_gross: true },
    { part_discount_percentage: 150 },
  ],
  [
    'returned parts take no discount',
    [{ parts: [part(-1, 5000, 3000)] }],
    {
      parts_discount_cents: 0,
      sales_cents: -5000,
      parts_tax_cents: -500,
      gross_profit_cents: -2000,
      unshared_discount_cents: 0,
      discount_exceeds_gross: true,
    },
    { part_discount_cents: 100 },
    { parts: [[-5000, 0, -500, -3000]] },
  ],
  [
    'a discount without lines takes nothing',
    [],
    { labor_discount_cents: 0, sales_cents: 0, unshared_discount_cents: 0, discount_exceeds_gross: true },
    { labor_discount_cents: 75 },
  ],
  [
    'a discount of the whole gross does not exceed it',
    [{ parts: [part(1, 1000)] }],
    { parts_discount_cents: 1000, parts_tax_cents: 0, discount_exceeds_gross: false },
    { part_discount_percentage: 100 },
  ],
  [
    'a discount on parts that come to nothing takes nothing, a surcharge counts without a tax',
    [{ parts: [part(1, 5000), part(-1, 5000)] }],
    {
      parts_discount_cents: 0,
      labor_discount_cents: -10,
      sales_cents: 10,
      tax_cents: 0,
      discount_exceeds_gross: true,
    },
    { part_discount_cents: 100, labor_discount_cents: -10 },
  ],
  [
    'a surcharge is a discount below zero',
    [{ labors: [labor(1)] }],
    { labor_discount_cents: -100, sales_cents: 10_100, labor_tax_cents: 1010, discount_exceeds_gross: false },
    { labor_discount_cents: -100 },
  ],
]

const taxes: Written[] = [
  [
    'each kind has its own rate',
    [{ labors: [labor(1)], parts: [part(1, 1000)], sublets: [sublet(1000)], hazmats: [hazmat(1, 1000)] }],
    {
      labor_tax_cents: 825,
      parts_tax_cents: 70,
      sublets_tax_cents: 60,
      hazmats_tax_cents: 50,
      tax_cents: 1005,
      total_cents: 14_005,
    },
    { labor_tax_rate: 8.25, part_tax_rate: 7, sublet_tax_rate: 6, hazmat_tax_rate: 5 },
  ],
  [
    'a tax is rounded once a kind, half away from zero',
    [{ labor_rate_cents: 5, labors: [labor(1)], parts: [part(-1, 5)] }],
    { labor_tax_cents: 1, parts_tax_cents: -1, tax_cents: 0 },
  ],
  [
    'a tax is not rounded by line',
    [{ parts: [part(1, 14), part(1, 14), part(1, 14)] }],
    { parts_cents: 42, parts_tax_cents: 4 },
  ],
  [
    'the supply fee is taxed as a part',
    [{ labors: [labor(1)] }],
    {
      supply_fee_cents: 500,
      parts_tax_cents: 50,
      total_cents: 10_000 + 1000 + 500 + 50,
      sales_cents: 10_000,
    },
    { supply_fee_cents: 500 },
  ],
  [
    'parts and fee are taxed together',
    [{ parts: [part(1, 1007)] }],
    { parts_tax_cents: 141 },
    { supply_fee_cents: 1007, part_tax_rate: 7 },
  ],
  [
    'the fee has no share in the discount',
    [{ parts: [part(1, 1000)] }],
    { parts_tax_cents: 150, total_cents: 500 + 1000 + 150, gross_profit_cents: 500 },
    { supply_fee_cents: 1000, part_discount_cents: 500 },
  ],
  [
    'a line that is not taxable',
    [{ labors: [labor(1), labor(1, false)] }],
    { labor_cents: 20_000, labor_tax_cents: 1000 },
  ],
  ['a line of which nothing is said is taxable', [{ labors: [labor(1, null)] }], { labor_tax_cents: 1000 }],
  [
    'an order that is not taxable has no tax, whatever its rates',
    [{ labors: [labor(1)], parts: [part(1, 1000)] }],
    { labor_tax_cents: 0, parts_tax_cents: 0, tax_cents: 0, total_cents: 11_500 },
    { taxable: false, supply_fee_cents: 500, labor_tax_rate: null, part_tax_rate: null },
  ],
  [
    'an order of which nothing is said has unknown taxes',
    [{ labors: [labor(1)] }],
    {
      labor_tax_cents: null,
      parts_tax_cents: null,
      sublets_tax_cents: null,
      hazmats_tax_cents: null,
      tax_cents: null,
      sales_cents: 10_000,
      ...unknownTotal,
    },
    { taxable: null },
  ],
  [
    'a missing rate where there is something to tax',
    [{ labors: [labor(1)] }],
    { labor_tax_cents: null, parts_tax_cents: 0, tax_cents: null, ...unknownTotal },
    { labor_tax_rate: null },
  ],
  [
    'a missing rate where there is nothing to tax',
    [{ labors: [labor(1)] }],
    { parts_tax_cents: 0, total_cents: 11_000 },
    { part_tax_rate: null, sublet_tax_rate: null, hazmat_tax_rate: null },
  ],
  [
    'a missing rate where the discount left nothing to tax',
    [{ labors: [labor(1)] }],
    { labor_tax_cents: 0, total_cents: 0 },
    { labor_tax_rate: null, labor_discount_percentage: 100 },
  ],
  [
    'an absurd rate is unknown',
    [{ labor_rate_cents: 100, labors: [labor(1)] }],
    { labor_tax_cents: null, ...unknownTotal },
    { labor_tax_rate: 1e9 },
  ],
  [
    'a rate has nine decimals: the tenth is rounded into them',
    [{ parts: [part(1, 100_000)] }],
    { parts_tax_cents: 8250 },
    { part_tax_rate: 8.2499999999 },
  ],
]

const unknowns: Written[] = [
  [
    'a supply fee left null',
    [{ labors: [labor(1)], parts: [part(1, 1000)] }],
    {
      supply_fee_cents: null,
      supply_fee_unknown: true,
      labor_tax_cents: 1000,
      parts_tax_cents: null,
      tax_cents: null,
      sales_cents: 11_000,
      ...unknownTotal,
    },
    { supply_fee_cents: null },
  ],
  [
    'a supply fee left null where nothing is taxed, at no rate',
    [{ labors: [labor(1)] }],
    { parts_tax_cents: null, ...unknownTotal },
    { supply_fee_cents: null, part_tax_rate: 0 },
  ],
  [
    'a supply fee left null on an order that is not taxable',
    [{ labors: [labor(1)] }],
    { parts_tax_cents: 0, tax_cents: 0, supply_fee_unknown: true, ...unknownTotal },
    { supply_fee_cents: null, taxable: false },
  ],
  [
    'a service without a labor rate',
    [{ labor_rate_cents: null, labors: [labor(2)] }],
    {
      labor_cents: 0,
      labor_hours: 2,
      rated_labor_hours: 0,
      lines_without_price: 1,
      labor_tax_cents: null,
      gross_profit_cents: null,
      ...unknownTotal,
    },
  ],
  [
    'no hours at no rate are worth nothing, and known',
    [{ labor_rate_cents: null, labors: [labor(0)] }],
    { labor_cents: 0, lines_without_price: 0, labor_tax_cents: 0, total_cents: 0 },
  ],
  [
    'hours that are not said',
    [{ labors: [labor(null), labor(1)] }],
    { labor_cents: 10_000, labor_hours: 1, lines_without_price: 1, labor_tax_cents: null, ...unknownTotal },
  ],
  [
    'a part without a quantity has neither price nor cost',
    [{ parts: [part(null, 1000, 500)] }],
    { lines_without_price: 1, lines_without_cost: 1, gross_profit_cents: null, ...unknownTotal },
  ],
  [
    'a part of which there is none is worth nothing, and known',
    [{ parts: [part(0, null, null)] }],
    { lines_without_price: 0, lines_without_cost: 0, total_cents: 0, gross_profit_cents: 0 },
  ],
  [
    'a part without a price',
    [{ parts: [part(1, null, 500)] }],
    {
      lines_without_price: 1,
      lines_without_cost: 0,
      parts_cost_cents: 500,
      parts_tax_cents: null,
      ...unknownTotal,
    },
  ],
  [
    'a line without a price that is not taxable leaves the tax known',
    [{ parts: [part(1, null, 0, false), part(1, 1000)] }],
    { parts_tax_cents: 100, tax_cents: 100, lines_without_price: 1, ...unknownTotal },
  ],
  [
    'a part without a cost',
    [{ parts: [part(1, 1000, null), part(1, 1000, 400)] }],
    { lines_without_cost: 1, parts_cost_cents: 400, gross_profit_cents: null, total_cents: 2200 },
  ],
  [
    'a sublet without price and cost',
    [{ sublets: [sublet(null, null)] }],
    { lines_without_price: 1, lines_without_cost: 1, sublets_tax_cents: null, ...unknownTotal },
  ],
  [
    'a hazmat without a fee',
    [{ hazmats: [hazmat(1, null)] }],
    { lines_without_price: 1, hazmats_tax_cents: null, gross_profit_cents: null, ...unknownTotal },
  ],
  [
    'a fixed price that the formula does not know',
    [{ labors: [labor(1)], fixed_price_cents: 9900 }],
    { fixed_price_ignored: true, labor_cents: 10_000, total_cents: 11_000 },
  ],
  [
    'a fixed price of null',
    [{ labors: [labor(1)], fixed_price_cents: null }],
    { fixed_price_ignored: false },
  ],
]

const absurd: Written[] = [
  [
    'a barcode in a quantity',
    [{ parts: [part(4_006_381_333_931, 1000, 10), part(1, 100, 10)] }],
    {
      parts_cents: 100,
      parts_cost_cents: 10,
      lines_without_price: 1,
      lines_without_cost: 1,
      ...unknownTotal,
    },
  ],
  [
    'a quantity just below the absurd',
    [{ parts: [part(999_999.999999999, 1), part(-999_999.5, 0)] }],
    { parts_cents: 1_000_000, lines_without_price: 0, lines_without_cost: 0 },
  ],
  [
    'an absurd quantity, also after its nine decimals and below zero',
    [
      {
        parts: [part(1_000_000, 1), part('999999.9999999996', 1), part(3, 1)],
        hazmats: [hazmat(-1_000_000, 1), hazmat(2, 10)],
      },
    ],
    { parts_cents: 3, hazmats_cents: 20, lines_without_price: 3, lines_without_cost: 2, ...unknownTotal },
  ],
  [
    'absurd hours are in no sum',
    [{ labors: [labor(100_000), labor(-999_999_999.5), labor(1)] }],
    { labor_hours: 1, rated_labor_hours: 1, labor_cents: 10_000, lines_without_price: 2, ...unknownTotal },
  ],
  [
    'where only the line is absurd, its hours count',
    [{ labor_rate_cents: 90_001, labors: [labor(99_999)] }],
    {
      labor_hours: 99_999,
      rated_labor_hours: 99_999,
      labor_cents: 0,
      lines_without_price: 1,
      ...unknownTotal,
    },
  ],
  [
    'a line just below the absurd',
    [{ labor_rate_cents: 90_000, labors: [labor(99_999)] }],
    { labor_cents: 8_999_910_000, lines_without_price: 0 },
  ],
  [
    'an absurd price of a unit is unknown, however few units there are',
    [
      {
        labor_rate_cents: 1_000_000_000,
        labors: [labor(0.001), labor(0)],
        parts: [part(0.001, 1_000_000_000, 7000), part(0.001, 3000, -1_000_000_000), part(0, 2_000_000_000)],
        hazmats: [hazmat(0.001, 1_000_000_000)],
      },
    ],
    {
      ...{ labor_hours: 0.001, rated_labor_hours: 0, labor_cents: 0, parts_cents: 3, parts_cost_cents: 7 },
      ...{ hazmats_cents: 0, lines_without_price: 3, lines_without_cost: 1, ...unknownTotal },
    },
  ],
  [
    'a price of a unit just below the absurd',
    [{ parts: [part(0.001, 999_999_999, 999_999_999)], hazmats: [hazmat(0.001, -999_999_999)] }],
    {
      parts_cents: 1_000_000,
      parts_cost_cents: 1_000_000,
      hazmats_cents: -1_000_000,
      lines_without_price: 0,
    },
  ],
  [
    'an absurd sublet',
    [{ sublets: [sublet(9_000_000_000, -9_000_000_000)] }],
    { sublets_cents: 0, lines_without_price: 1, lines_without_cost: 1, ...unknownTotal },
  ],
  [
    'the largest integers, everywhere, break nothing',
    [
      {
        labor_rate_cents: 2n ** 63n - 1n,
        labors: [labor(99_999)],
        parts: [part(1, 2n ** 63n - 1n, -(2n ** 63n))],
      },
    ],
    { lines_without_price: 2, sales_cents: 0, paid_cents: 0, ...unknownTotal },
    {
      part_discount_cents: 2n ** 63n - 1n,
      labor_discount_percentage: 1e300,
      part_tax_rate: 1e300,
      supply_fee_cents: 2n ** 63n - 1n,
      payments: [{ amount_cents: 2n ** 63n - 1n }, { amount_cents: 2n ** 63n - 1n }],
    },
  ],
]

const money: Written[] = [
  [
    'payments and refunds',
    [{ labors: [labor(1)] }],
    { payments: 2, paid_cents: 7500, balance_cents: 3500 },
    { payments: [{ amount_cents: 10_000 }, { amount_cents: -2500 }] },
  ],
  [
    'a payment of an unknown amount is counted',
    [{ labors: [labor(1)] }],
    { payments: 2, paid_cents: 11_000, balance_cents: 0 },
    { payments: [{ amount_cents: 11_000 }, { amount_cents: null }] },
  ],
  [
    'what is paid is known where the total is not',
    [{ labors: [labor(1)] }],
    { paid_cents: 11_000, ...unknownTotal },
    { payments: [{ amount_cents: 11_000 }], supply_fee_cents: null },
  ],
]

const quarantine: Written[] = [
  [
    'a value of the formula in quarantine is null',
    [{ labors: [labor('two'), labor(1)] }],
    { lines_in_quarantine: 1, lines_without_price: 1, labor_cents: 10_000, ...unknownTotal },
  ],
  [
    'an item in quarantine is in no sum',
    [{ parts: [part(1, 1000), { ...part(1, 500), id: null }] }],
    { lines_in_quarantine: 1, lines_without_price: 0, parts_cents: 1000, sales_cents: 1000, ...unknownTotal },
  ],
  [
    'a service in quarantine takes its lines along',
    [{ labors: [labor(1)] }, { id: 'none', labors: [labor(5)] }],
    { lines_in_quarantine: 1, labor_cents: 10_000, ...unknownTotal },
  ],
  [
    'a payment in quarantine leaves the total unknown',
    [{ labors: [labor(1)] }],
    { lines_in_quarantine: 1, payments: 2, paid_cents: 500, ...unknownTotal },
    { payments: [{ amount_cents: 500 }, { amount_cents: 'much' }] },
  ],
  [
    'a value that is not of the formula is not counted',
    [{ labors: [{ ...labor(1), technician_id: 'Bob' }], inspections: [{ id: null }] }],
    { lines_in_quarantine: 0, total_cents: 11_000 },
    { odometer: 'far', picked_up_at: 'later' },
  ],
  [
    'a supply fee and a rate in quarantine',
    [{ labors: [labor(1)] }],
    { lines_in_quarantine: 2, supply_fee_unknown: true, labor_tax_cents: null, ...unknownTotal },
    { supply_fee_cents: 'some', labor_tax_rate: 'high' },
  ],
]

const times: Written[] = [
  [
    'days, and whole minutes rounded down',
    [],
    {
      created_on: '2026-01-01',
      started_on: '2026-01-01',
      closed_on: '2026-01-02',
      picked_up_on: '2026-01-02',
      minutes_to_start: 1,
      minutes_in_work: 1440,
      minutes_to_close: 1441,
      minutes_to_pick_up: -1,
      created_at_local: '2026-01-01 00:00:00',
      closed_at_local: '2026-01-02 00:01:59',
      updated_at_local: '2026-01-01 00:00:00',
    },
    { started_at: stamp(119), closed_at: stamp(119 + 86_400), picked_up_at: stamp(118 + 86_400) },
  ],
  [
    'minutes from creation to close are no sum of rounded parts',
    [],
    { minutes_to_start: 0, minutes_in_work: 0, minutes_to_close: 1 },
    { created_at: '2026-01-01T00:00:00.5Z', started_at: stamp(60), closed_at: '2026-01-01T00:01:00.5Z' },
  ],
  [
    'nor is what was closed before its creation',
    [],
    { minutes_to_start: -1, minutes_in_work: -1, minutes_to_close: -1 },
    { created_at: stamp(120), started_at: stamp(90), closed_at: stamp(60) },
  ],
  [
    'an end that is missing',
    [],
    {
      started_on: null,
      minutes_to_close: 0,
      minutes_to_start: null,
      minutes_in_work: null,
      minutes_to_pick_up: null,
      closed_on: '2026-01-01',
    },
    { started_at: null, closed_at: stamp(5), picked_up_at: null },
  ],
  [
    'an instant that the calendar does not have',
    [],
    {
      created_on: null,
      created_at_local: null,
      closed_on: '1990-01-01',
      closed_at_local: '1990-01-01 00:00:00',
      minutes_in_work: null,
    },
    { created_at: '1989-12-31T23:59:59.999999Z', closed_at: '1990-01-01T00:00:00Z' },
  ],
]

const shared: Written[] = [
  [
    'a discount is shared out by running sums: the lines sum to it',
    [{ parts: [part(1, 100, 60), part(1, 100, 60), part(1, 100, 60)] }],
    { parts_discount_cents: 100, parts_tax_cents: 20, supply_fee_tax_cents: 0, unshared_discount_cents: 0 },
    { part_discount_cents: 100 },
    {
      // 33.3, 66.7, 100; a tenth of 66.7, 133.3, 200.
      parts: [
        [100, 33, 7, 60],
        [100, 34, 6, 60],
        [100, 33, 7, 60],
      ],
    },
  ],
  [
    'lines take their shares by the ids of their services, then by their own',
    [
      { id: 9002, labors: [{ id: 7002, ...labor(0.01) }, labor(0.01), { id: 7001, ...labor(0.02) }] },
      { id: 9001, labors: [{ id: 8001, ...labor(0.01) }] },
    ],
    { labor_cents: 500, labor_discount_cents: 3, labor_tax_cents: 50 },
    { labor_discount_cents: 3 },
    // In this order: 8001 of 9001 (0.6), 7001 (1.8), 7002 (2.4), the numbered one (3).
    {
      labors: [
        [100, 0, 10, null],
        [100, 1, 10, null],
        [200, 1, 20, null],
        [100, 1, 10, null],
      ],
    },
  ],
  [
    'the tax on the supply fee is on no line',
    [{ parts: [part(1, 1007)] }],
    { parts_tax_cents: 141, supply_fee_tax_cents: 71 },
    { supply_fee_cents: 1007, part_tax_rate: 7 },
    { parts: [[1007, 0, 70, 0]] },
  ],
  [
    'lines that are not taxable bear the discount and no tax',
    [{ parts: [part(1, 600), part(1, 400, 0, false)] }],
    { parts_tax_cents: 54, supply_fee_tax_cents: 0 },
    { part_discount_cents: 100 },
    {
      parts: [
        [600, 60, 54, 0],
        [400, 40, 0, 0],
      ],
    },
  ],
  [
    'a line without a price has no share; its cost is known all the same',
    [{ parts: [part(1, null, 500, false), part(1, 1000, 400)] }],
    { parts_discount_cents: 10, parts_tax_cents: 99, lines_without_price: 1 },
    { part_discount_cents: 10 },
    {
      parts: [
        [null, null, null, 500],
        [1000, 10, 99, 400],
      ],
    },
  ],
  [
    'lines whose tax is unknown have none that is known, and so has the fee',
    [{ parts: [part(1, 1000)], labors: [labor(1)], sublets: [sublet(700, 300)] }],
    { parts_tax_cents: null, supply_fee_tax_cents: null },
    { supply_fee_cents: null, labor_tax_rate: null },
    { parts: [[1000, 0, null, 0]], labors: [[10_000, 0, null, null]], sublets: [[700, 0, 70, 300]] },
  ],
  [
    'lines of an order that is not taxable have a tax of 0, whatever its rates and its fee',
    [{ parts: [part(1, 1000)], hazmats: [hazmat(2, 355)] }],
    { supply_fee_tax_cents: 0 },
    { taxable: false, supply_fee_cents: null },
    { parts: [[1000, 0, 0, 0]], hazmats: [[710, 0, 0, null]] },
  ],
  [
    'a discount beyond the gross leaves nothing of any line, nor of a service',
    [{ labors: [labor(0.1), labor(0.2)] }],
    { labor_discount_cents: 3000, labor_tax_cents: 0, unshared_discount_cents: 0 },
    { labor_discount_cents: 4500 },
    {
      labors: [
        [1000, 1000, 0, null],
        [2000, 2000, 0, null],
      ],
      services: [[3e8, 3000, 3000, 0, 0, 0, 0, 0, 0, 0, null, null]],
    },
  ],
  [
    'a surcharge on what comes to nothing is on no line',
    [{ parts: [part(1, 5000), part(-1, 5000)] }],
    { unshared_discount_cents: -175, parts_tax_cents: 7, supply_fee_tax_cents: 7 },
    { part_discount_cents: -100, labor_discount_cents: -75, supply_fee_cents: 70 },
    {
      parts: [
        [5000, 0, 0, 0],
        [-5000, 0, 0, 0],
      ],
    },
  ],
  [
    'absurd lines have no nets',
    [{ labor_rate_cents: 90_001, labors: [labor(99_999), labor(1e5), labor(1)] }],
    { labor_cents: 90_001, labor_discount_cents: 9000, labor_tax_cents: null },
    { labor_discount_percentage: 10 },
    {
      labors: [
        [null, null, null, null],
        [null, null, null, null],
        [90_001, 9000, null, null],
      ],
    },
  ],
]

const services: Written[] = [
  [
    'services come to what their lines do, and sum to their order',
    [
      { labors: [labor(1.5), labor(0.5)], parts: [part(2, 1000, 600)] },
      {
        labors: [labor(1)],
        parts: [part(1, 1000, 400)],
        sublets: [sublet(700, 300)],
        hazmats: [hazmat(2, 355)],
      },
    ],
    { labor_cents: 30_000, parts_cents: 3000, sales_cents: 33_310, gross_profit_cents: 31_410 },
    { labor_discount_cents: 1000, part_discount_cents: 100 },
    {
      services: [
        [2e9, 20_000, 667, 2000, 67, 0, 0, 1200, 20_066, 0, null, null],
        [1e9, 10_000, 333, 1000, 33, 700, 710, 700, 11_344, 0, null, null],
      ],
    },
  ],
  [
    'a service with an unknown price or cost has sums of the others, and no profit',
    [
      { labors: [labor(null), labor(1e5), labor(0.5)] },
      { parts: [part(1, 1000, null), part(2, 10, 5)] },
      { sublets: [sublet(null, 300)] },
      { hazmats: [hazmat(1, null), hazmat(1, 20)] },
      {},
    ],
    { lines_without_price: 4, lines_without_cost: 1, gross_profit_cents: null, ...unknownTotal },
    {},
    {
      services: [
        [5e8, 5000, 0, 0, 0, 0, 0, 0, null, 2, null, null],
        [0, 0, 0, 1020, 0, 0, 0, 10, null, 0, null, null],
        [0, 0, 0, 0, 0, 0, 0, 300, null, 0, null, null],
        [0, 0, 0, 0, 0, 0, 20, 0, null, 0, null, null],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, null, null],
      ],
    },
  ],
  [
    'hours of a service that sum to an absurd number are unknown',
    [{ labor_rate_cents: 0, labors: Array.from({ length: 10_001 }, () => labor(99_999.5)) }],
    { labor_cents: 0, lines_without_price: 0 },
    {},
    { services: [[null, 0, 0, 0, 0, 0, 0, 0, 0, 0, null, null]] },
  ],
  [
    "a service that was completed has the shop's day and clock",
    [{ completed_at: '2026-03-01T05:30:00.000000Z' }, { completed_at: null }],
    {},
    {},
    {
      services: [
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '2026-03-01', '2026-03-01 05:30:00'],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, null, null],
      ],
    },
  ],
]

/** Which part of the sales and the supply fee is taxed. */
const taxability: Written[] = [
  [
    'a kind whose rate is 0 is untaxed, and the supply fee goes with parts',
    [{ labors: [labor(1)], parts: [part(1, 1000), part(1, 500, 0, false)] }],
    { taxable_sales_cents: 1100, untaxed_sales_cents: 10_500 },
    { labor_tax_rate: 0, supply_fee_cents: 100 },
  ],
  [
    'a fee on parts without a rate is untaxed too',
    [{ labors: [labor(1)], parts: [part(1, 1000)] }],
    { taxable_sales_cents: 10_000, untaxed_sales_cents: 1100 },
    { part_tax_rate: 0, supply_fee_cents: 100 },
  ],
  [
    'all of an order that is not taxable is untaxed',
    [{ labors: [labor(1)] }],
    { taxable_sales_cents: 0, untaxed_sales_cents: 10_100 },
    { taxable: false, supply_fee_cents: 100 },
  ],
  [
    'it is unknown what is taxed if the order does not say, or a rate is missing where there is something to tax',
    [{ labors: [labor(1)] }],
    { taxable_sales_cents: null, untaxed_sales_cents: null },
    { labor_tax_rate: null, supply_fee_cents: 100 },
  ],
  [
    'an unknown fee leaves untaxed sales unknown, and taxable ones if parts are taxed',
    [{ labors: [labor(1)] }],
    { taxable_sales_cents: null, untaxed_sales_cents: null },
    { supply_fee_cents: null },
  ],
  [
    'discounts are off the lines that bear them',
    [{ parts: [part(1, 600), part(1, 400, 0, false)] }],
    { taxable_sales_cents: 540, untaxed_sales_cents: 360 },
    { part_discount_cents: 100, supply_fee_cents: 0 },
  ],
]

export const cases: readonly TotalsCase[] = [
  ...lines,
  ...discounts,
  ...taxes,
  ...unknowns,
  ...absurd,
  ...money,
  ...quarantine,
  ...times,
  ...shared,
  ...services,
  ...taxability,
  [
    'inspections are counted by color',
    [
      { inspections: [inspection('red'), inspection('green'), inspection('unchecked'), inspection(null)] },
      { inspections: [inspection('red'), inspection('yellow'), inspection('purple')] },
    ],
    { inspections_red: 2, inspections_yellow: 1, inspections_green: 1 },
  ] satisfies Written,
].map(([name, of, row, more, nets], i) => ({ name, row, nets, record: order(i + 1, of, more) }))
