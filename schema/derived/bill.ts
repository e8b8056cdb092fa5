/**
 * The total of a repair order. Every amount is exact: lines, percentages of sums and each kind's tax are rounded to
 * whole cents, half away from zero. Null means unknown: a line without a price is worth 0 in the sums and is counted,
 * so that people who add up totals can tell what is left out.
 */
import type { RuleSettings, Stored, StoredRow, WholeRecord } from '../derive.js'
import { minus, plus, rounded, times, unit, type Whole } from '../exact.js'
import {
  allServices,
  amountOf,
  below,
  hazmatsOf,
  type LinesOfKind,
  laborOf,
  nestedRows,
  numberOf,
  partsOf,
  subletsOf,
} from './billlines.js'
import { netsOf, untaxed } from './nets.js'
import { servicesOf } from './servicesums.js'

/** A tax or discount of this many cents is absurd: sums of them must fit 64 bits. */
const absurdSum = 9_000_000_000_000_000

/** A discount as sent: the given cents, else the percentage, else nothing. */
function discountSent(given: Stored | undefined, percentage: Stored | undefined, gross: Whole): Whole {
  const cents = amountOf(given)
  if (cents !== null) return cents
  const percent = numberOf(percentage)
  return percent === null ? 0 : (below(rounded(times(gross, percent), 100 * unit), absurdSum) ?? 0)
}

/** Such a discount takes what it applies to and no more: as sent, it would make sales negative that nobody booked. */
const exceeds = (discount: Whole, gross: Whole): boolean => discount > 0 && discount > gross

function discountTaken(sent: Whole, gross: Whole): Whole {
  if (!exceeds(sent, gross)) return sent
  return gross > 0 ? gross : 0
}

/** The tax base, as a fraction: a discount applies proportionally to taxable and other lines. */
interface TaxBase {
  readonly lines: LinesOfKind
  readonly discount?: Whole
  /** Taxed in addition to the lines; null if unknown. */
  readonly fee?: Whole | null
}

function taxOf({ lines, discount = 0, fee = 0 }: TaxBase, rate: Stored | undefined, perCent: number) {
  if (fee === null || lines.isTaxableUnknown) return null
  const { cents, taxable } = lines
  const [base, parts]: [Whole, Whole] =
    cents === 0
      ? [fee, 1]
      : discount === 0
        ? [plus(taxable, fee), 1]
        : [plus(times(taxable, minus(cents, discount)), times(fee, cents)), cents]
  if (base === 0) return 0
  const exact = numberOf(rate)
  return exact === null ? null : below(rounded(times(base, exact), times(parts, perCent * unit)), absurdSum)
}

/** A rate as a fraction of the smallest possible integers: their products rarely exceed a double. */
interface Fraction {
  readonly share: Whole
  readonly whole: Whole
}

const fractions = new Map<Whole, Fraction>()
const mostFractions = 1000

function fractionOf(nanos: Whole, perCent: number): Fraction {
  const whole = perCent * unit
  if (typeof nanos !== 'number') return { share: nanos, whole }
  const key = perCent === 1 ? -nanos : nanos
  const known = fractions.get(key)
  if (known) return known
  let [divisor, rest] = [whole, Math.abs(nanos)]
  while (rest > 0) [divisor, rest] = [rest, divisor % rest]
  const fraction = { share: nanos / divisor, whole: whole / divisor }
  // There are few rates; a source with only different rates must not fill the memory.
  if (fractions.size < mostFractions) fractions.set(key, fraction)
  return fraction
}

/** The tax on the first lines, consistent with `taxOf` for all of them; nothing if nothing is taxed. */
function taxerOf({ lines: { cents }, discount = 0 }: TaxBase, rate: Stored | undefined, perCent: number) {
  const exact = numberOf(rate)
  if (exact === null || exact === 0 || cents === 0) return untaxed
  const { share, whole } = fractionOf(exact, perCent)
  if (discount === 0) return (taxable: Whole) => rounded(times(taxable, share), whole)
  const each = times(minus(cents, discount), share)
  const parts = times(cents, whole)
  return (taxable: Whole) => rounded(times(taxable, each), parts)
}

interface Taxes {
  readonly labor: Whole | null
  readonly parts: Whole | null
  readonly sublets: Whole | null
  readonly hazmats: Whole | null
}

type Bases = { readonly [K in keyof Taxes]: TaxBase }

const rateNames = {
  labor: 'labor_tax_rate',
  parts: 'part_tax_rate',
  sublets: 'sublet_tax_rate',
  hazmats: 'hazmat_tax_rate',
} as const

/** The divisor for one percent. */
const perCentOf = ({ taxRates }: RuleSettings): number => (taxRates === 'percent' ? 100 : 1)

function taxesOf(order: StoredRow, bases: Bases, settings: RuleSettings): Taxes {
  if (order.taxable !== true) {
    const each = order.taxable === false ? 0 : null
    return { labor: each, parts: each, sublets: each, hazmats: each }
  }
  const tax = (kind: keyof Taxes) => taxOf(bases[kind], order[rateNames[kind]], perCentOf(settings))
  return { labor: tax('labor'), parts: tax('parts'), sublets: tax('sublets'), hazmats: tax('hazmats') }
}

/** What each line and each service adds to the order, and what is left over. */
function shareOut(order: StoredRow, bases: Bases, taxes: Taxes, settings: RuleSettings) {
  const shared = (kind: keyof Taxes) => {
    const rate = order.taxable === true ? order[rateNames[kind]] : 0
    const taxUpTo = taxes[kind] === null ? null : taxerOf(bases[kind], rate, perCentOf(settings))
    return netsOf(bases[kind].lines, { discount: bases[kind].discount ?? 0, taxUpTo })
  }
  const unshared = ({ lines, discount = 0 }: TaxBase): Whole => (lines.cents === 0 ? discount : 0)
  const nets = {
    labor: shared('labor'),
    parts: shared('parts'),
    sublets: shared('sublets'),
    hazmats: shared('hazmats'),
  }
  const { tax } = nets.parts
  const exempt = Object.values(nets).reduce<Whole>((sum, kind) => plus(sum, kind.exempt), 0)
  return {
    nets,
    exempt,
    supplyFeeTax: taxes.parts === null || tax === null ? null : minus(taxes.parts, tax),
    unsharedDiscount: plus(unshared(bases.labor), unshared(bases.parts)),
  }
}

/**
 * The sales, and the supply fee, of the kinds that are taxed at a rate other than 0; null if it isn't known what is
 * taxed, or how much the fee is.
 */
function taxableOf(
  order: StoredRow,
  bases: Bases,
  nets: Readonly<Record<keyof Taxes, { exempt: Whole }>>,
): Whole | null {
  if (order.taxable !== true) return order.taxable === false ? 0 : null
  const ofKind = (kind: keyof Taxes): Whole | null => {
    const { lines, discount = 0, fee = 0 } = bases[kind]
    const rate = numberOf(order[rateNames[kind]])
    if (rate === 0) return 0
    if (fee === null) return null
    const taxed = plus(minus(lines.cents, plus(discount, nets[kind].exempt)), fee)
    return rate === null && taxed !== 0 ? null : taxed
  }
  return sumOf([ofKind('labor'), ofKind('parts'), ofKind('sublets'), ofKind('hazmats')])
}

/** Paths of a record whose values are in the formula; if they are in quarantine, the formula has a gap. */
const ofTheFormula = new RegExp(
  `^(?:${[
    '(?:part|labor)_discount_(?:cents|percentage)',
    '(?:part|labor|sublet|hazmat)_tax_rate',
    'taxable',
    'supply_fee_cents',
    String.raw`payments(?:\[\d+\](?:\.amount_cents)?)?`,
    String.raw`services(?:\[\d+\](?:\.labor_rate_cents)?)?`,
    String.raw`services\[\d+\]\.(?:labors|parts|hazmats|sublets)(?:\[\d+\])?`,
    String.raw`services\[\d+\]\.labors\[\d+\]\.(?:hours|taxable)`,
    String.raw`services\[\d+\]\.parts\[\d+\]\.(?:quantity|quoted_price_cents|cost_cents|taxable)`,
    String.raw`services\[\d+\]\.hazmats\[\d+\]\.(?:quantity|fee_cents|taxable)`,
    String.raw`services\[\d+\]\.sublets\[\d+\]\.(?:price_cents|cost_cents|taxable)`,
  ].join('|')})$`,
)

/** A sum that is unknown if any part is. */
const sumOf = (values: readonly (Whole | null)[]): Whole | null =>
  values.reduce<Whole | null>((sum, value) => (sum === null || value === null ? null : plus(sum, value)), 0)

/** What is stored with the services and lines. */
function linesOf(
  {
    services,
    order,
    settings,
  }: {
    readonly services: ReturnType<typeof allServices>
    readonly order: StoredRow
    readonly settings: RuleSettings
  },
  { labor, parts, sublets, hazmats }: Bases,
  nets: ReturnType<typeof shareOut>['nets'],
  hours: ReturnType<typeof laborOf>['hoursOfLines'],
) {
  return {
    repair_order_services: servicesOf(
      services,
      { order, settings },
      {
        labor: { lines: labor.lines, nets: nets.labor.values, hours },
        parts: { lines: parts.lines, nets: nets.parts.values },
        sublets: { lines: sublets.lines, nets: nets.sublets.values },
        hazmats: { lines: hazmats.lines, nets: nets.hazmats.values },
      },
    ),
    repair_order_labors: nets.labor.values,
    repair_order_parts: nets.parts.values,
    repair_order_sublets: nets.sublets.values,
    repair_order_hazmats: nets.hazmats.values,
  }
}

/** What is in quarantine, of a deleted order what was: its row tells how much. */
function gapsOf(record: WholeRecord): number {
  const [before] = nestedRows(record, 'repair_order_totals')
  const gaps = record.quarantined.filter((path) => ofTheFormula.test(path)).length
  return Math.max(gaps, Number(before?.lines_in_quarantine ?? 0))
}

export function billOf(record: WholeRecord, order: StoredRow, settings: RuleSettings) {
  const services = allServices(record)
  const { lines: labor, hoursOfLines, hours, ratedHours } = laborOf(record, services)
  const { lines: parts, costs: partsCosts } = partsOf(record)
  const { lines: sublets, costs: subletsCosts } = subletsOf(record)
  const hazmats = hazmatsOf(record)
  const laborSent = discountSent(order.labor_discount_cents, order.labor_discount_percentage, labor.cents)
  const partsSent = discountSent(order.part_discount_cents, order.part_discount_percentage, parts.cents)
  const laborDiscount = discountTaken(laborSent, labor.cents)
  const partsDiscount = discountTaken(partsSent, parts.cents)
  const supplyFee = amountOf(order.supply_fee_cents)
  const gross = [labor, parts, sublets, hazmats].reduce<Whole>((sum, { cents }) => plus(sum, cents), 0)
  const sales = minus(gross, plus(laborDiscount, partsDiscount))
  const cost = plus(partsCosts.cents, subletsCosts.cents)
  const bases = {
    labor: { lines: labor, discount: laborDiscount },
    parts: { lines: parts, discount: partsDiscount, fee: supplyFee },
    sublets: { lines: sublets },
    hazmats: { lines: hazmats },
  }
  const taxes = taxesOf(order, bases, settings)
  const tax = sumOf(Object.values(taxes))
  const withoutPrice = labor.unknown + parts.unknown + sublets.unknown + hazmats.unknown
  const withoutCost = partsCosts.unknown + subletsCosts.unknown
  const inQuarantine = gapsOf(record)
  const isKnown = withoutPrice === 0 && inQuarantine === 0
  const payments = nestedRows(record, 'repair_order_payments')
  const { nets, exempt, supplyFeeTax, unsharedDiscount } = shareOut(order, bases, taxes, settings)
  const taxableSales = taxableOf(order, bases, nets)
  return {
    lines: linesOf({ services, order, settings }, bases, nets, hoursOfLines),
    supplyFeeTax,
    unsharedDiscount,
    exemptSales: order.taxable === true ? exempt : order.taxable === false ? sales : null,
    taxableSales,
    untaxedSales:
      taxableSales === null || supplyFee === null ? null : minus(plus(sales, supplyFee), taxableSales),
    hours,
    ratedHours,
    gross: { labor: labor.cents, parts: parts.cents, sublets: sublets.cents, hazmats: hazmats.cents },
    laborDiscount,
    partsDiscount,
    sales,
    supplyFee,
    taxes,
    tax,
    total: isKnown ? sumOf([sales, supplyFee, tax]) : null,
    partsCost: partsCosts.cents,
    subletsCost: subletsCosts.cents,
    grossProfit: withoutPrice + withoutCost > 0 ? null : minus(sales, cost),
    paid: payments.reduce<Whole>((sum, payment) => plus(sum, amountOf(payment.amount_cents) ?? 0), 0),
    withoutPrice,
    withoutCost,
    discountExceedsGross: exceeds(laborSent, labor.cents) || exceeds(partsSent, parts.cents),
    inQuarantine,
  }
}
