/**
 * The tests of order totals can fail: each wrong reading of the formula is caught by the cases computed by hand, and
 * each wrong way of storing it by the stored values. The wrong readings are planted in a copy of the compiled rule.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Derived } from '../../schema/derive.js'
import { systemClock } from '../../src/engine/base/clock.js'
import type { FlatPage } from '../../src/engine/model/flatten/batch.js'
import { derivePage } from '../../src/engine/model/flatten/derivedvalues.js'
import { known } from '../support/harness/runs.js'
import { scratch } from '../support/harness/scratch.js'
import { someOf } from '../support/harness/size.js'
import { open, rowsOf, type Session, sqliteBothWays, usualRules } from '../support/harness/warehouse.js'
import { labor, order, stamp, storeOrders } from '../support/world/orders.js'
import { sessionOf, through } from '../support/world/through.js'
import { computeAnew } from './anew.js'
import { cases } from './cases.js'

const compiled = resolve(import.meta.dirname, '../../dist/schema')
const bill = 'derived/bill.js'
const exact = 'exact.js'
const lines = 'derived/billlines.js'
const nets = 'derived/nets.js'
const sums = 'derived/servicesums.js'
const resource = known.byName.get('repair_orders')!
const [totals] = resource.derived

/** Whether the rows of a kind have these values at the end of their tuples. */
const hasNets = (page: FlatPage, kind: string, wanted: readonly (readonly unknown[])[]): boolean => {
  const tuples = page.rows.get(`repair_order_${kind}`) ?? []
  const width = wanted[0]?.length ?? 0
  return isDeepStrictEqual(
    tuples.map((tuple) => tuple.slice(-width)),
    wanted,
  )
}

/** The names of the cases that a rule gets wrong. */
function caught(rule: Derived['rule']): string[] {
  const derived = [{ table: totals!.table, declared: { ...totals!.declared, rule } }]
  const settings = usualRules(systemClock).of(7)
  return cases
    .filter(({ record, row, nets: expected = {} }) => {
      const page = resource.flatten(1, [record], true)
      const [tuple = []] = derivePage({ ...resource, derived }, page, {
        tenantId: 7,
        settings,
        form: 'numeric',
      }).get(totals!.table.name)!
      const columns = totals!.table.columns
        .map(({ name }) => name)
        .filter((name) => !/^(tenant_id|_)/.test(name))
      if (Object.entries(expected).some(([kind, wanted]) => !hasNets(page, kind, wanted))) return true
      return Object.entries(row).some(([name, value]) => {
        const found = tuple[columns.indexOf(name)]
        return (typeof found === 'string' && typeof value === 'number' ? Number(found) : found) !== value
      })
    })
    .map(({ name }) => name)
}

/** The rule, after a change to one file. */
async function planted(file: string, from: string | RegExp, to: string): Promise<Derived['rule']> {
  // In dist/, where vitest leaves loading to Node.
  const folder = join(scratch(), 'dist/schema')
  cpSync(compiled, folder, { recursive: true, filter: (name) => !name.endsWith('.map') })
  writeFileSync(join(folder, '..', 'package.json'), '{"type":"module"}')
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  const changed = text.replace(from, to)
  expect(changed).not.toBe(text)
  writeFileSync(path, changed)
  const module = await import(pathToFileURL(join(folder, 'derived/repair_order_totals.js')).href)
  return (module as { default: Derived }).default.rule
}

const readings: readonly (readonly [name: string, file: string, from: string | RegExp, to: string])[] = [
  [
    'halves go to the even cent',
    exact,
    '(2 * rest >= divisor ? 1 : 0)',
    '(2 * rest > divisor || (2 * rest === divisor && ((Math.abs(numerator) - rest) / divisor) % 2 === 1) ? 1 : 0)',
  ],
  ['halves go up', exact, 'isNegative ? 0 - size', 'isNegative ? 0 - size + (2 * rest === divisor ? 1 : 0)'],
  ['numbers enter as floats', exact, 'return near + 0', 'return Math.trunc(scaled)'],
  [
    'lines are not rounded',
    lines,
    'rounded(times(quantity, each), unit)',
    'Math.trunc(Number(times(quantity, each)) / unit)',
  ],
  ['the fee is untaxed', bill, 'fee: supplyFee', 'fee: supplyFee === null ? null : 0'],
  [
    'the fee is discounted',
    bill,
    'plus(times(taxable, minus(cents, discount)), times(fee, cents))',
    'times(plus(taxable, fee), minus(cents, discount))',
  ],
  ['tax comes before the discount', bill, 'times(taxable, minus(cents, discount))', 'times(taxable, cents)'],
  [
    'the discount is on taxable lines alone',
    bill,
    'times(taxable, minus(cents, discount))',
    'times(minus(taxable, discount), cents)',
  ],
  ['the percentage goes before the cents', bill, 'if (cents !== null)', 'if (cents !== null && !percentage)'],
  ['a discount takes more than its gross', bill, 'gross > 0 ? gross : 0', 'sent'],
  ['a discount turns a return into nothing', bill, 'gross > 0 ? gross : 0', 'gross'],
  ['a missing fee is none', bill, 'if (fee === null ||', 'fee ??= 0; if ('],
  ['a missing rate is 0', bill, 'exact === null ? null', 'exact === null ? 0'],
  ['a line that says nothing is not taxable', lines, 'taxable !== false', 'taxable === true'],
  ['an order that says nothing is not taxable', bill, 'order.taxable === false ? 0 : null', '0'],
  ['an order that says nothing is taxable', bill, 'order.taxable !== true', 'order.taxable === false'],
  ['nothing without a price is unknown', lines, 'if (quantity === 0)', 'if (false)'],
  ['an unknown taxable line leaves the tax known', lines, 'this.isTaxableUnknown ||= isTaxable', ''],
  [
    'a line without a price leaves the total known',
    bill,
    'withoutPrice === 0 && inQuarantine === 0',
    'inQuarantine === 0',
  ],
  [
    'quarantine leaves the total known',
    bill,
    'withoutPrice === 0 && inQuarantine === 0',
    'withoutPrice === 0',
  ],
  ['all quarantine counts', bill, 'ofTheFormula.test(path)', 'path !== ""'],
  ['a missing cost is 0', bill, 'withoutPrice + withoutCost > 0', 'withoutPrice > 0'],
  [
    'refunds are left out',
    bill,
    'amountOf(payment.amount_cents) ?? 0',
    'Math.max(0, amountOf(payment.amount_cents) ?? 0)',
  ],
  ['absurd rates count', lines, /below\(nanos\(([^;]*)\), absurd.number \* unit\)/, 'nanos($1)'],
  ['hours have the bound of sums', lines, 'absurd.hours * unit', 'absurd.number * unit'],
  ['quantities have the bound of sums', lines, 'absurd.units * unit', 'absurd.number * unit'],
  ['quantities have the bound of hours', lines, 'absurd.units * unit', 'absurd.hours * unit'],
  ['prices of a unit have the bound of lines', lines, 'absurd.price)', 'absurd.cents)'],
  ['hours at an absurd rate are rated', lines, 'priceIn(rate) !== null', 'rate !== null'],
  [
    'absurd lines count',
    lines,
    'below(rounded(times(quantity, each), unit), absurd.cents)',
    'rounded(times(quantity, each), unit)',
  ],
  ['hours without a rate are rated', lines, 'if (priceIn(rate) !== null)', 'if (true)'],
  [
    'minutes to close are a sum of parts',
    'derived/orderdays.js',
    'between(created, closed)',
    '(between(created, started) ?? 0) + (between(started, closed) ?? 0)',
  ],
  ['a discount of everything exceeds its gross', bill, 'discount > gross', 'discount >= gross'],
  ['a discount of nothing is shared', bill, 'lines.cents === 0 ? discount : 0', '0'],
  ["the fee's tax is that of its own", bill, 'minus(taxes.parts, tax)', '0'],
  ['shares are rounded line by line', nets, 'times(discount, sum), cents', 'times(discount, amount), cents'],
  ['lines take their shares as they are sent', nets, '&& !isAfter(rows[place - 1], rows[place])', ''],
  ['lines come by their own ids', nets, 'first === second ?', 'true ?'],
  ['lines come by the ids of their services alone', nets, '(a?.id ?? 0) > (b?.id ?? 0)', 'false'],
  [
    'a line without a price has a share',
    nets,
    'if (amount === null)',
    'values[at + 1] = 0; if (amount === null)',
  ],
  [
    'a line without a price has no cost',
    nets,
    'if (amount === null)',
    'if (amount === null && !(values[at + 3] = null))',
  ],
  ['lines that are not taxable are taxed', nets, 'else if (isTaxed)', 'if (isTaxed)'],
  ['taxable lines are exempt', nets, 'rows[place]?.taxable === false', 'rows[place]?.taxable !== null'],
  ['lines whose tax is unknown have none', nets, 'taxUpTo === null ? null : 0', '0'],
  [
    'lines are taxed before their discount',
    bill,
    'times(minus(cents, discount), share)',
    'times(cents, share)',
  ],
  [
    'lines of untaxed orders are taxed',
    bill,
    'order.taxable === true ? order[rateNames[kind]] : 0',
    'order[rateNames[kind]]',
  ],
  ['all lines are those of the first service', sums, 'first = places.get(service ?? null)', 'first = 0'],
  [
    'a service has the first of its lines',
    sums,
    'if (service !== last)',
    'if (service === last) continue; else',
  ],
  [
    'a line without a price leaves the profit known',
    sums,
    'amount === null || cost === null',
    'cost === null',
  ],
  [
    'a line without a cost leaves the profit known',
    sums,
    'amount === null || cost === null',
    'amount === null',
  ],
  ['absurd sums of hours count', sums, 'below(of(at.hours), absurd.number * unit)', 'of(at.hours)'],
  [
    'discounts are in the profit',
    sums,
    'plus(plus(of(at.labor + 1), of(at.parts + 1)), of(at.cost))',
    'of(at.cost)',
  ],
]

describe('catches a wrong reading:', () => {
  it('accepts the rule itself', () => expect(caught(totals!.declared.rule)).toEqual([]))

  it.each(someOf(4, readings))('%s', async (_name, file, from, to) => {
    expect(caught(await planted(file, from, to))).not.toEqual([])
  })
})

describe('catches a wrong way of storing:', () => {
  const [, [, kind] = []] = sqliteBothWays()
  const moving = { id: 77, ...labor(1) }
  const holding = (id: number, second: number) => ({
    ...order(id, []),
    updated_at: stamp(second),
    services: [{ id: 500 + id, labor_rate_cents: 10_000, labors: [moving] }],
  })

  const isConsistent = async (instead: (session: Session) => Partial<Session>): Promise<boolean> => {
    const real = await open(kind!)
    const warehouse = through(real, {
      transaction: (work) =>
        real.dialect.transaction((session) => work(sessionOf(session, instead(session)))),
    })
    await storeOrders(warehouse, [holding(1, 5)], stamp(100))
    await storeOrders(warehouse, [holding(2, 9)], stamp(200))
    await storeOrders(warehouse, [{ ...holding(2, 10), services: [] }], stamp(300))
    const before = await rowsOf(real, 'repair_order_totals')
    await computeAnew(real)
    const after = await rowsOf(real, 'repair_order_totals')
    await real.close()
    return JSON.stringify(after) === JSON.stringify(before)
  }

  it('accepts the right way', async () => expect(await isConsistent(() => ({}))).toBe(true))

  it('existing rows stay', async () => {
    const upsert = (session: Session): Partial<Session> => ({
      upsert: async (table, rows, shared, differing) =>
        table.role === 'derived' && shared.syncedAt > stamp(250)
          ? 0
          : session.upsert(table, rows, shared, differing),
    })
    expect(await isConsistent(upsert)).toBe(false)
  })
})
