/**
 * The bill of an order, from its record as the API sends it: written from docs/totals.md, not from the rule in
 * schema/derived. Everything that shows money of an order is compared with it: the stored totals, the views, the figures,
 * the payments that the sandbox generates.
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
  unknowns,
  worth,
} from './amounts.js'

/** Each kind of line, and the list of a service that has its lines. */
export const lists = { labor: 'labors', part: 'parts', sublet: 'sublets', hazmat: 'hazmats' } as const
export type Kind = keyof typeof lists
export const kinds = Object.keys(lists) as Kind[]

/** A line by itself. */
interface Item {
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

/** A line of a bill: what it adds to its order. */
export interface Line extends Item {
  readonly discount: bigint
  readonly tax: bigint | null
  readonly net: bigint
  /** null if its price or cost is unknown. */
  readonly profit: bigint | null
}

export const idOf = ({ id }: Fields): number => Number(id)

function itemOf(kind: Kind, service: Fields, item: Fields): Item {
  const isSublet = kind === 'sublet'
  const units = kind === 'labor' ? hoursOf(item.hours) : isSublet ? unit : unitsOf(item.quantity)
  const prices = {
    labor: service.labor_rate_cents,
    part: item.quoted_price_cents,
    sublet: item.price_cents,
    hazmat: item.fee_cents,
  }
  const costs = kind === 'part' || isSublet
  const amountAt = (each: unknown): bigint | null => (isSublet ? cents(each) : worth(units, each))
  const [amount, cost] = [amountAt(prices[kind]), costs ? amountAt(item.cost_cents) : null]
  return { kind, service, item, units, price: prices[kind], amount, cost, costs }
}

/** In the order in which they get their shares. */
function itemsOf(services: readonly Fields[], kind: Kind): Item[] {
  const sorted = (some: readonly Fields[]): Fields[] => [...some].sort((a, b) => idOf(a) - idOf(b))
  return sorted(services).flatMap((service) =>
    sorted(list(service, lists[kind])).map((item) => itemOf(kind, service, item)),
  )
}

function sentDiscount(order: Fields, kind: Kind, gross: bigint): bigint {
  if (kind !== 'labor' && kind !== 'part') return 0n
  const percent = nanos(order[`${kind}_discount_percentage`])
  const share = percent === null ? 0n : divided(gross * percent, 100n * unit)
  return cents(order[`${kind}_discount_cents`]) ?? (magnitude(share) >= absurdSum ? 0n : share)
}

/** What an order has of one kind. */
interface OfKind {
  readonly order: Fields
  readonly kind: Kind
  readonly items: readonly Item[]
  readonly gross: bigint
  readonly discount: bigint
  /** On all of them together. */
  readonly tax: bigint | null
  readonly isDiscountTooLarge: boolean
}

function ofKind(order: Fields, kind: Kind): OfKind {
  const items = itemsOf(list(order, 'services'), kind)
  const gross = sum(items.map(({ amount }) => amount))
  const sent = sentDiscount(order, kind, gross)
  const most = gross > 0n ? gross : 0n
  const discount = sent > most ? most : sent
  const isDiscountTooLarge = sent > 0n && sent > most
  const tax = taxOf(order, kind, items, gross - discount)
  return { order, kind, items, gross, discount, tax, isDiscountTooLarge }
}

/** A discount is on taxable and other lines in proportion. */
function taxOf(order: Fields, kind: Kind, items: readonly Item[], sales: bigint): bigint | null {
  const fee = kind === 'part' ? cents(order.supply_fee_cents) : 0n
  if (order.taxable === false) return 0n
  if (order.taxable !== true || fee === null) return null
  const taxable = items.filter(({ item }) => item.taxable !== false).map(({ amount }) => amount)
  if (taxable.includes(null)) return null
  const gross = sum(items.map(({ amount }) => amount))
  const [top, bottom] = gross === 0n ? [fee, 1n] : [sum(taxable) * sales + fee * gross, gross]
  if (top === 0n) return 0n
  const rate = nanos(order[`${kind}_tax_rate`])
  const tax = rate === null ? null : divided(top * rate, bottom * 100n * unit)
  return tax === null || magnitude(tax) >= absurdSum ? null : tax
}

/** Each line gets what is on all lines up to it, less what is on all lines before it: so nothing is lost by rounding. */
function linesOf({ order, kind, items, gross, discount, tax }: OfKind): Line[] {
  const rate = nanos(order[`${kind}_tax_rate`]) ?? 0n
  const discountOn = (amounts: bigint): bigint => (gross === 0n ? 0n : divided(discount * amounts, gross))
  const taxOn = (taxable: bigint): bigint => {
    if (order.taxable !== true || gross === 0n) return 0n
    const exact = divided(taxable * (gross - discount) * rate, gross * 100n * unit)
    return exact > absurdSum ? absurdSum : exact < -absurdSum ? -absurdSum : exact
  }
  let [all, taxable] = [0n, 0n]
  return items.map((item) => {
    const amount = item.amount ?? 0n
    const before = { discount: discountOn(all), tax: taxOn(taxable) }
    all += amount
    if (item.item.taxable !== false) taxable += amount
    const share = discountOn(all) - before.discount
    const net = amount - share
    const isProfitKnown = item.amount !== null && (!item.costs || item.cost !== null)
    return {
      ...item,
      discount: share,
      tax: tax === null || item.amount === null ? null : taxOn(taxable) - before.tax,
      net,
      profit: isProfitKnown ? net - (item.cost ?? 0n) : null,
    }
  })
}

export type Bill = ReturnType<typeof billOf>

export function billOf(order: Fields) {
  const fee = cents(order.supply_fee_cents)
  const parts = kinds.map((kind) => ofKind(order, kind))
  const each = (value: (part: OfKind) => bigint): Record<Kind, bigint> =>
    Object.fromEntries(parts.map((part) => [part.kind, value(part)])) as Record<Kind, bigint>
  const lines = parts.flatMap(linesOf)
  const labors = lines.filter(({ kind }) => kind === 'labor')
  const taxes = parts.map(({ tax }) => tax)
  const sales = sum(parts.map(({ gross, discount }) => gross - discount))
  const tax = sumOfAll(taxes)
  const isPriced = lines.every(({ amount }) => amount !== null)
  const total = isPriced ? sumOfAll([sales, fee, tax]) : null
  const paid = sum(list(order, 'payments').map(({ amount_cents }) => cents(amount_cents)))
  return {
    order,
    lines,
    gross: each(({ gross }) => gross),
    discount: each(({ discount }) => discount),
    isDiscountTooLarge: parts.some((part) => part.isDiscountTooLarge),
    /** What no line can take: a discount on lines that come to nothing. */
    unshared: sum(parts.map(({ gross, discount }) => (gross === 0n ? discount : 0n))),
    sales,
    fee,
    taxes,
    tax,
    total,
    paid,
    balance: total === null ? null : total - paid,
    profit:
      sumOfAll(lines.map(({ profit }) => profit)) === null
        ? null
        : sales - sum(lines.map(({ cost }) => cost)),
    hours: sum(labors.map(({ units }) => units)),
    /** Of labors whose service has a rate. */
    ratedHours: sum(labors.filter(({ price }) => priceOf(price) !== null).map(({ units }) => units)),
  }
}

/** The tax of parts that is on no part, but on the supply fee. */
export function feeTax({ taxes: [, tax], lines }: Bill): bigint | null {
  const parts = lines.filter(({ kind }) => kind === 'part')
  return tax === undefined || tax === null ? null : tax - sum(parts.map((line) => line.tax))
}

/** What the services of a bill come to, by the columns of views. */
export function servicesOf({ order, lines }: Bill) {
  return list(order, 'services').map((service) => {
    const own = lines.filter((line) => line.service === service)
    const of = (kind: Kind): Line[] => own.filter((line) => line.kind === kind)
    const gross = (kind: Kind): bigint => sum(of(kind).map(({ amount }) => amount))
    const hours = of('labor').map(({ units }) => units)
    return {
      service,
      hours: sum(hours),
      lines_without_hours: unknowns(hours),
      sales_cents: sum(own.map(({ net }) => net)),
      labor_cents: gross('labor'),
      labor_discount_cents: sum(of('labor').map(({ discount }) => discount)),
      parts_cents: gross('part'),
      parts_discount_cents: sum(of('part').map(({ discount }) => discount)),
      sublets_cents: gross('sublet'),
      hazmats_cents: gross('hazmat'),
      cost_cents: sum(own.map(({ cost }) => cost)),
      gross_profit_cents: sumOfAll(own.map(({ profit }) => profit)),
    }
  })
}

/** What a recommendation would bring. */
export function worthOfRecommendation({ quick_price_cents, service }: Fields): bigint | null {
  if (typeof quick_price_cents === 'number') return cents(quick_price_cents)
  const recommended = service as Fields | null
  if (!recommended?.id) return null
  return sumOfAll(kinds.flatMap((kind) => itemsOf([recommended], kind)).map(({ amount }) => amount))
}

/** The lines of a kind that aren't taxable, after their discount. */
const exemptLines = ({ lines }: Bill, kind: Kind): bigint =>
  sum(lines.filter((line) => line.kind === kind && line.item.taxable === false).map(({ net }) => net))

/** The exempt part of an order: null if it is unknown whether it is taxable. */
export function exemptOf(bill: Bill): bigint | null {
  if (bill.order.taxable === false) return bill.sales
  return bill.order.taxable === true ? sum(kinds.map((kind) => exemptLines(bill, kind))) : null
}

/** What is taxed at a rate other than 0, with the supply fee if parts are: null if it is unknown. */
export function taxableOf(bill: Bill): bigint | null {
  const { order, gross, discount } = bill
  if (order.taxable === false) return 0n
  if (order.taxable !== true) return null
  const ofKinds = kinds.map((kind) => {
    const rate = nanos(order[`${kind}_tax_rate`])
    const fee = kind === 'part' ? bill.fee : 0n
    if (rate === 0n || fee === null) return rate === 0n ? 0n : null
    const taxed = gross[kind] - discount[kind] - exemptLines(bill, kind) + fee
    return rate === null && taxed !== 0n ? null : taxed
  })
  return sumOfAll(ofKinds)
}

export function untaxedOf(bill: Bill): bigint | null {
  const taxed = taxableOf(bill)
  return taxed === null || bill.fee === null ? null : bill.sales + bill.fee - taxed
}
