/**
 * The bill of an order, from its record as the API sends it: written from docs/totals.md, not from the rule in
 * schema/derived. The views and the stored totals are both compared with it.
 */
import {
  absurdSum,
  cents,
  divided,
  type Fields,
  hoursOf,
  list,
  magnitude,
  nanos,
  priceOf,
  sum,
  sumOfAll,
  unit,
  unitsOf,
  worth,
} from './amounts.js'

export type Kind = 'labor' | 'part' | 'sublet' | 'hazmat'

export interface Line {
  readonly kind: Kind
  readonly service: Fields
  readonly item: Fields
  readonly units: bigint | null
  readonly price: unknown
  readonly amount: bigint | null
  readonly cost: bigint | null
  /** Whether lines of this kind have a cost. */
  readonly costs: boolean
}

const isProfitKnown = ({ amount, cost, costs }: Line): boolean => amount !== null && (!costs || cost !== null)

export const idOf = ({ id }: Fields): number => Number(id)

export function linesOf(services: readonly Fields[]): Line[] {
  return services.flatMap((service): Line[] => [
    ...list(service, 'labors').map((item): Line => {
      const units = hoursOf(item.hours)
      const price = service.labor_rate_cents
      return {
        kind: 'labor',
        service,
        item,
        units,
        price,
        amount: worth(units, price),
        cost: null,
        costs: false,
      }
    }),
    ...list(service, 'parts').map((item): Line => {
      const [units, price] = [unitsOf(item.quantity), item.quoted_price_cents]
      const cost = worth(units, item.cost_cents)
      return { kind: 'part', service, item, units, price, amount: worth(units, price), cost, costs: true }
    }),
    ...list(service, 'sublets').map((item): Line => {
      const [price, cost] = [item.price_cents, cents(item.cost_cents)]
      return { kind: 'sublet', service, item, units: unit, price, amount: cents(price), cost, costs: true }
    }),
    ...list(service, 'hazmats').map((item): Line => {
      const [units, price] = [unitsOf(item.quantity), item.fee_cents]
      return {
        kind: 'hazmat',
        service,
        item,
        units,
        price,
        amount: worth(units, price),
        cost: null,
        costs: false,
      }
    }),
  ])
}

export interface Bill {
  readonly order: Fields
  readonly lines: readonly Line[]
  readonly gross: Readonly<Record<Kind, bigint>>
  readonly discount: Readonly<Record<Kind, bigint>>
  readonly sales: bigint
  readonly fee: bigint | null
  readonly taxes: readonly (bigint | null)[]
  readonly tax: bigint | null
  readonly total: bigint | null
  readonly profit: bigint | null
  readonly paid: bigint
  readonly balance: bigint | null
  readonly hours: bigint
  /** Of labors whose service has a rate. */
  readonly ratedHours: bigint
}

export const kinds: readonly Kind[] = ['labor', 'part', 'sublet', 'hazmat']

function sentDiscount(order: Fields, kind: 'labor' | 'part', gross: bigint): bigint {
  const percent = nanos(order[`${kind}_discount_percentage`])
  const share = percent === null ? 0n : divided(gross * percent, 100n * unit)
  return cents(order[`${kind}_discount_cents`]) ?? (magnitude(share) >= absurdSum ? 0n : share)
}

function discountOf(order: Fields, kind: Kind, gross: bigint): bigint {
  if (kind !== 'labor' && kind !== 'part') return 0n
  const sent = sentDiscount(order, kind, gross)
  const most = gross > 0n ? gross : 0n
  return sent > most ? most : sent
}

function taxOf(
  order: Fields,
  kind: Kind,
  lines: readonly Line[],
  discount: bigint,
  fee: bigint | null,
): bigint | null {
  if (order.taxable === false) return 0n
  if (order.taxable !== true || fee === null) return null
  const taxable = lines.filter(({ item }) => item.taxable !== false)
  if (taxable.some(({ amount }) => amount === null)) return null
  const [gross, base] = [sum(lines.map(({ amount }) => amount)), sum(taxable.map(({ amount }) => amount))]
  const [top, bottom] = gross === 0n ? [fee, 1n] : [base * (gross - discount) + fee * gross, gross]
  if (top === 0n) return 0n
  const rate = nanos(order[`${kind}_tax_rate`])
  const tax = rate === null ? null : divided(top * rate, bottom * 100n * unit)
  return tax === null || magnitude(tax) >= absurdSum ? null : tax
}

export function billOf(order: Fields): Bill {
  const lines = linesOf(list(order, 'services'))
  const of = (kind: Kind): Line[] => lines.filter((line) => line.kind === kind)
  const each = (value: (kind: Kind) => bigint): Record<Kind, bigint> =>
    Object.fromEntries(kinds.map((kind) => [kind, value(kind)])) as Record<Kind, bigint>
  const gross = each((kind) => sum(of(kind).map(({ amount }) => amount)))
  const discount = each((kind) => discountOf(order, kind, gross[kind]))
  const fee = cents(order.supply_fee_cents)
  const taxes = kinds.map((kind) => taxOf(order, kind, of(kind), discount[kind], kind === 'part' ? fee : 0n))
  const sales = sum(kinds.map((kind) => gross[kind] - discount[kind]))
  const tax = sumOfAll(taxes)
  const isPriced = lines.every(({ amount }) => amount !== null)
  const isCosted = lines.every(({ costs, cost }) => !costs || cost !== null)
  const total = isPriced ? sumOfAll([sales, fee, tax]) : null
  const paid = sum(list(order, 'payments').map(({ amount_cents }) => cents(amount_cents)))
  return {
    order,
    lines,
    gross,
    discount,
    sales,
    fee,
    taxes,
    tax,
    total,
    paid,
    profit: isPriced && isCosted ? sales - sum(lines.map(({ cost }) => cost)) : null,
    balance: total === null ? null : total - paid,
    hours: sum(of('labor').map(({ units }) => units)),
    ratedHours: sum(
      of('labor')
        .filter(({ price }) => priceOf(price) !== null)
        .map(({ units }) => units),
    ),
  }
}

/** Whether a discount, as it was sent, is above 0 and larger than what it applies to. */
export function isDiscountTooLarge({ order, gross }: Bill): boolean {
  return (['labor', 'part'] as const).some((kind) => {
    const sent = sentDiscount(order, kind, gross[kind])
    return sent > 0n && sent > (gross[kind] > 0n ? gross[kind] : 0n)
  })
}

/** The tax of parts that is on no part, but on the supply fee. */
export function feeTax(bill: Bill): bigint | null {
  const [, tax] = bill.taxes
  return tax === undefined || tax === null ? null : tax - sum(taxShares(bill, 'part', inOrder(bill, 'part')))
}

/** The part of its discounts that no line of an order gets. */
export const unsharedDiscount = ({ gross, discount }: Bill): bigint =>
  sum(kinds.map((kind) => (gross[kind] === 0n ? discount[kind] : 0n)))

export interface Net {
  readonly line: Line
  readonly discount: bigint
  readonly tax: bigint | null
  readonly net: bigint
  readonly isProfitKnown: boolean
}

/** What each line of a kind adds to its order. */
export function netsOf(bill: Bill, kind: Kind): Net[] {
  const sorted = inOrder(bill, kind)
  const amounts = sorted.map(({ amount }) => amount ?? 0n)
  const off = shares(bill.discount[kind], bill.gross[kind], amounts)
  const taxes = taxShares(bill, kind, sorted)
  return sorted.map((line, i) => ({
    line,
    discount: off[i] ?? 0n,
    tax: taxes[i] ?? null,
    net: (amounts[i] ?? 0n) - (off[i] ?? 0n),
    isProfitKnown: isProfitKnown(line),
  }))
}

/**
 * The shares of a tax on the lines of one kind, in the order of services and lines; null if the tax is unknown, and for
 * lines without an amount.
 */
function taxShares(bill: Bill, kind: Kind, sorted: readonly Line[]): (bigint | null)[] {
  const { order, gross, discount, taxes } = bill
  const rate = nanos(order[`${kind}_tax_rate`]) ?? 0n
  const whole = gross[kind]
  const isTaxed = order.taxable === true && whole !== 0n
  const taxOn = (base: bigint): bigint => {
    const exact = isTaxed ? divided(base * (whole - discount[kind]) * rate, whole * 100n * unit) : 0n
    return exact > absurdSum ? absurdSum : exact < -absurdSum ? -absurdSum : exact
  }
  let base = 0n
  return sorted.map(({ amount, item }) => {
    if (taxes[kinds.indexOf(kind)] === null || amount === null) return null
    const before = taxOn(base)
    if (item.taxable !== false) base += amount
    return taxOn(base) - before
  })
}

/** The shares of a discount, in the order of services and lines: each is a difference of rounded running sums. */
export function shares(discount: bigint, gross: bigint, amounts: readonly bigint[]): bigint[] {
  if (discount === 0n || gross === 0n) return amounts.map(() => 0n)
  let upTo = 0n
  let given = 0n
  return amounts.map((amount) => {
    upTo += amount
    const share = divided(discount * upTo, gross) - given
    given += share
    return share
  })
}

/** The lines of one kind in the order in which they get their shares. */
export const inOrder = ({ lines }: Bill, kind: Kind): Line[] =>
  lines
    .filter((line) => line.kind === kind)
    .sort((a, b) => idOf(a.service) - idOf(b.service) || idOf(a.item) - idOf(b.item))

/** What a recommendation would bring. */
export function worthOfRecommendation(one: Fields): bigint | null {
  if (typeof one.quick_price_cents === 'number') return cents(one.quick_price_cents)
  const service = one.service as Fields | null
  return service?.id ? sumOfAll(linesOf([service]).map(({ amount }) => amount)) : null
}

/** The exempt part of an order: null if it is unknown whether it is taxable. */
export function exemptOf(bill: Bill): bigint | null {
  if (bill.order.taxable === false) return bill.sales
  if (bill.order.taxable !== true) return null
  return sum(kinds.map((kind) => exemptNet(bill, kind)))
}

/** The lines of a kind that aren't taxable, after their discount. */
const exemptNet = (bill: Bill, kind: Kind): bigint =>
  sum(netsOf(bill, kind).map(({ line, net }) => (line.item.taxable === false ? net : 0n)))

/** What is taxed at a rate other than 0, with the supply fee if parts are: null if it is unknown. */
export function taxableOf(bill: Bill): bigint | null {
  const { order, gross, discount, fee } = bill
  if (order.taxable === false) return 0n
  if (order.taxable !== true) return null
  const ofKinds = kinds.map((kind) => {
    const rate = nanos(order[`${kind}_tax_rate`])
    if (rate === 0n) return 0n
    const exempt = exemptNet(bill, kind)
    if (kind === 'part' && fee === null) return null
    const taxed = gross[kind] - discount[kind] - exempt + (kind === 'part' ? (fee ?? 0n) : 0n)
    return rate === null && taxed !== 0n ? null : taxed
  })
  return sumOfAll(ofKinds)
}

export function untaxedOf(bill: Bill): bigint | null {
  const taxed = taxableOf(bill)
  return taxed === null || bill.fee === null ? null : bill.sales + bill.fee - taxed
}
