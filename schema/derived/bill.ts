/**
 * What a repair order comes to. Every amount is exact: lines are rounded to whole cents, half away from zero, and so are
 * percentages of sums and each kind's tax. Null means unknown: a line that has no price is worth 0 in the sums and
 * counted, so that whoever adds totals up can say what they leave out.
 */
import type { RuleSettings, Stored, StoredRow, WholeRecord } from '../derive.js'
import { nanos, rounded, unit, wholeOf } from '../exact.js'

/** Hours, quantities, percentages and rates from here on are absurd, such as a barcode in the field of a quantity. */
const absurdNumber = 1_000_000_000n * unit
/** So is a line of so many cents. */
const absurdCents = 9_000_000_000n
/** And a tax or a discount of so many: sums of them must fit 64 bits. */
const absurdSum = 9_000_000_000_000_000n

const sizeOf = (value: bigint): bigint => (value < 0n ? -value : value)
const below = (value: bigint | null, limit: bigint): bigint | null =>
  value === null || sizeOf(value) >= limit ? null : value

const amountOf = (value: Stored | undefined): bigint | null => below(wholeOf(value ?? null), absurdCents)
const numberOf = (value: Stored | undefined): bigint | null => below(nanos(value ?? null), absurdNumber)

/** What a line comes to: nothing of anything is nothing, whatever it costs. Null where it is unknown. */
function lineOf(quantity: bigint | null, price: Stored | undefined): bigint | null {
  if (quantity === null) return null
  if (quantity === 0n) return 0n
  const each = wholeOf(price ?? null)
  return each === null ? null : below(rounded(quantity * each, unit), absurdCents)
}

/** The lines of one kind, added up. */
class Lines {
  cents = 0n
  taxable = 0n
  unknown = 0
  /** A taxable line has no price: what is to be taxed is unknown. */
  isTaxableUnknown = false

  /** A line of which the API does not say whether it is taxable is. */
  add(line: bigint | null, taxable: Stored | undefined): void {
    const isTaxable = taxable !== false
    if (line === null) {
      this.unknown++
      this.isTaxableUnknown ||= isTaxable
      return
    }
    this.cents += line
    if (isTaxable) this.taxable += line
  }
}

/** Costs, added up. */
class Costs {
  cents = 0n
  unknown = 0

  add(cost: bigint | null): void {
    if (cost === null) this.unknown++
    else this.cents += cost
  }
}

const rowsOf = ({ rows }: WholeRecord, table: string): readonly StoredRow[] => rows[table] ?? []

function laborOf(record: WholeRecord) {
  const rates = new Map(
    rowsOf(record, 'repair_order_services').map((service) => [service.id, service.labor_rate_cents ?? null]),
  )
  const lines = new Lines()
  let [hours, ratedHours] = [0n, 0n]
  for (const labor of rowsOf(record, 'repair_order_labors')) {
    const sold = numberOf(labor.hours)
    const rate = rates.get(labor.service_id ?? null) ?? null
    hours += sold ?? 0n
    if (rate !== null) ratedHours += sold ?? 0n
    lines.add(lineOf(sold, rate), labor.taxable)
  }
  return { lines, hours, ratedHours }
}

function partsOf(record: WholeRecord) {
  const [lines, costs] = [new Lines(), new Costs()]
  for (const part of rowsOf(record, 'repair_order_parts')) {
    const quantity = numberOf(part.quantity)
    lines.add(lineOf(quantity, part.quoted_price_cents), part.taxable)
    costs.add(lineOf(quantity, part.cost_cents))
  }
  return { lines, costs }
}

function subletsOf(record: WholeRecord) {
  const [lines, costs] = [new Lines(), new Costs()]
  for (const sublet of rowsOf(record, 'repair_order_sublets')) {
    lines.add(amountOf(sublet.price_cents), sublet.taxable)
    costs.add(amountOf(sublet.cost_cents))
  }
  return { lines, costs }
}

function hazmatsOf(record: WholeRecord): Lines {
  const lines = new Lines()
  for (const hazmat of rowsOf(record, 'repair_order_hazmats'))
    lines.add(lineOf(numberOf(hazmat.quantity), hazmat.fee_cents), hazmat.taxable)
  return lines
}

/** The cents given, else the percentage, else nothing. A discount beyond its gross stays as it is given. */
function discountOf(given: Stored | undefined, percentage: Stored | undefined, gross: bigint): bigint {
  const cents = amountOf(given)
  if (cents !== null) return cents
  const percent = numberOf(percentage)
  return percent === null ? 0n : (below(rounded(gross * percent, 100n * unit), absurdSum) ?? 0n)
}

/** What is to be taxed, as a fraction: a discount is on taxable and other lines in proportion. */
interface TaxBase {
  readonly lines: Lines
  readonly discount?: bigint
  /** Taxed besides the lines; null where it is unknown. */
  readonly fee?: bigint | null
}

function taxOf({ lines, discount = 0n, fee = 0n }: TaxBase, rate: Stored | undefined, perCent: bigint) {
  if (fee === null || lines.isTaxableUnknown) return null
  const { cents, taxable } = lines
  const [base, parts] = cents === 0n ? [fee, 1n] : [taxable * (cents - discount) + fee * cents, cents]
  if (base === 0n) return 0n
  const exact = numberOf(rate)
  return exact === null ? null : below(rounded(base * exact, parts * perCent * unit), absurdSum)
}

interface Taxes {
  readonly labor: bigint | null
  readonly parts: bigint | null
  readonly sublets: bigint | null
  readonly hazmats: bigint | null
}

type Bases = { readonly [K in keyof Taxes]: TaxBase }

function taxesOf(order: StoredRow, bases: Bases, { taxRates }: RuleSettings): Taxes {
  if (order.taxable !== true) {
    const each = order.taxable === false ? 0n : null
    return { labor: each, parts: each, sublets: each, hazmats: each }
  }
  const perCent = taxRates === 'percent' ? 100n : 1n
  return {
    labor: taxOf(bases.labor, order.labor_tax_rate, perCent),
    parts: taxOf(bases.parts, order.part_tax_rate, perCent),
    sublets: taxOf(bases.sublets, order.sublet_tax_rate, perCent),
    hazmats: taxOf(bases.hazmats, order.hazmat_tax_rate, perCent),
  }
}

/** Places of a record whose values are in the formula; in quarantine they leave a gap in it. */
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

/** A sum in which one unknown makes the whole unknown. */
const sumOf = (values: readonly (bigint | null)[]): bigint | null =>
  values.reduce((sum, value) => (sum === null || value === null ? null : sum + value), 0n)

const exceeds = (discount: bigint, gross: bigint): boolean => discount > 0n && discount > gross

export function billOf(record: WholeRecord, order: StoredRow, settings: RuleSettings) {
  const { lines: labor, hours, ratedHours } = laborOf(record)
  const { lines: parts, costs: partsCosts } = partsOf(record)
  const { lines: sublets, costs: subletsCosts } = subletsOf(record)
  const hazmats = hazmatsOf(record)
  const laborDiscount = discountOf(order.labor_discount_cents, order.labor_discount_percentage, labor.cents)
  const partsDiscount = discountOf(order.part_discount_cents, order.part_discount_percentage, parts.cents)
  const supplyFee = amountOf(order.supply_fee_cents)
  const sales = labor.cents - laborDiscount + parts.cents - partsDiscount + sublets.cents + hazmats.cents
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
  const inQuarantine = record.quarantined.filter((path) => ofTheFormula.test(path)).length
  const isKnown = withoutPrice === 0 && inQuarantine === 0
  const payments = rowsOf(record, 'repair_order_payments').map((payment) => amountOf(payment.amount_cents))
  return {
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
    grossProfit: withoutPrice + withoutCost > 0 ? null : sales - partsCosts.cents - subletsCosts.cents,
    paid: payments.reduce((sum: bigint, payment) => sum + (payment ?? 0n), 0n),
    withoutPrice,
    withoutCost,
    discountExceedsGross: exceeds(laborDiscount, labor.cents) || exceeds(partsDiscount, parts.cents),
    inQuarantine,
  }
}
