/**
 * The lines of a repair order by kind: the amount of each, and its cost. Each is rounded to whole cents, half away from
 * zero; null means unknown.
 */
import type { Stored, StoredRow, WholeRecord } from '../derive.js'
import { nanos, plus, rounded, times, unit, type Whole, wholeOf } from '../exact.js'
import type { NetLines } from './nets.js'

/**
 * From here on, a value is absurd, such as a barcode in a quantity field. The bounds of a line are far below those of a
 * sum: a single absurd line would empty the day and the month that it is in.
 */
export const absurd = {
  /** Hours and units of one line. */
  hours: 1e5,
  units: 1e6,
  /** Sums of hours and units; percentages and rates. */
  number: 1e9,
  /** The price or cost of one unit, in cents. */
  price: 1e9,
  /** A line, a fee or a payment, in cents. */
  cents: 9e9,
} as const

export const below = (value: Whole | null, limit: number): Whole | null =>
  value === null || value >= limit || value <= -limit ? null : value

export const amountOf = (value: Stored | undefined): Whole | null =>
  below(wholeOf(value ?? null), absurd.cents)
/** A percentage or rate. */
export const numberOf = (value: Stored | undefined): Whole | null =>
  below(nanos(value ?? null), absurd.number * unit)
const hoursIn = (value: Stored | undefined): Whole | null => below(nanos(value ?? null), absurd.hours * unit)
const unitsIn = (value: Stored | undefined): Whole | null => below(nanos(value ?? null), absurd.units * unit)
const priceIn = (value: Stored | undefined): Whole | null => below(wholeOf(value ?? null), absurd.price)

/** The amount of a line: a quantity of zero is worth nothing, whatever it costs. Null if unknown. */
function lineOf(quantity: Whole | null, price: Stored | undefined): Whole | null {
  if (quantity === null) return null
  if (quantity === 0) return 0
  const each = priceIn(price)
  return each === null ? null : below(rounded(times(quantity, each), unit), absurd.cents)
}

/** The lines of one kind, added up. */
export class LinesOfKind implements NetLines {
  readonly amounts: (Whole | null)[] = []
  readonly costs: (Whole | null)[] = []
  cents: Whole = 0
  taxable: Whole = 0
  unknown = 0
  /** A taxable line has no price, so the tax base is unknown. */
  isTaxableUnknown = false

  constructor(readonly rows: readonly StoredRow[]) {}

  /** A line counts as taxable unless the API says that it isn't. */
  add(line: Whole | null, taxable: Stored | undefined): void {
    const isTaxable = taxable !== false
    this.amounts.push(line)
    if (line === null) {
      this.unknown++
      this.isTaxableUnknown ||= isTaxable
      return
    }
    this.cents = plus(this.cents, line)
    if (isTaxable) this.taxable = plus(this.taxable, line)
  }
}

/** Costs of lines, added up. */
class Costs {
  cents: Whole = 0
  unknown = 0

  constructor(private readonly of: LinesOfKind) {}

  add(cost: Whole | null): void {
    this.of.costs.push(cost)
    if (cost === null) this.unknown++
    else this.cents = plus(this.cents, cost)
  }
}

export const nestedRows = ({ rows }: WholeRecord, table: string): readonly StoredRow[] => rows[table] ?? []

/** The services of a record, and the position of each id among them. */
export interface Services {
  readonly rows: readonly StoredRow[]
  readonly places: ReadonlyMap<Stored, number>
}

export function allServices(record: WholeRecord): Services {
  const rows = nestedRows(record, 'repair_order_services')
  const places = new Map<Stored, number>()
  for (let i = 0; i < rows.length; i++) places.set(rows[i]?.id ?? null, i)
  return { rows, places }
}

export function laborOf(record: WholeRecord, services: Services) {
  const lines = new LinesOfKind(nestedRows(record, 'repair_order_labors'))
  const hoursOfLines: (Whole | null)[] = []
  let hours: Whole = 0
  let ratedHours: Whole = 0
  for (const labor of lines.rows) {
    const sold = hoursIn(labor.hours)
    const service = services.places.get(labor.service_id ?? null) ?? -1
    const rate = services.rows[service]?.labor_rate_cents
    hoursOfLines.push(sold)
    hours = plus(hours, sold ?? 0)
    if (priceIn(rate) !== null) ratedHours = plus(ratedHours, sold ?? 0)
    lines.add(lineOf(sold, rate), labor.taxable)
  }
  return { lines, hoursOfLines, hours, ratedHours }
}

export function partsOf(record: WholeRecord) {
  const lines = new LinesOfKind(nestedRows(record, 'repair_order_parts'))
  const costs = new Costs(lines)
  for (const part of lines.rows) {
    const quantity = unitsIn(part.quantity)
    lines.add(lineOf(quantity, part.quoted_price_cents), part.taxable)
    costs.add(lineOf(quantity, part.cost_cents))
  }
  return { lines, costs }
}

export function subletsOf(record: WholeRecord) {
  const lines = new LinesOfKind(nestedRows(record, 'repair_order_sublets'))
  const costs = new Costs(lines)
  for (const sublet of lines.rows) {
    lines.add(amountOf(sublet.price_cents), sublet.taxable)
    costs.add(amountOf(sublet.cost_cents))
  }
  return { lines, costs }
}

export function hazmatsOf(record: WholeRecord): LinesOfKind {
  const lines = new LinesOfKind(nestedRows(record, 'repair_order_hazmats'))
  for (const hazmat of lines.rows)
    lines.add(lineOf(unitsIn(hazmat.quantity), hazmat.fee_cents), hazmat.taxable)
  return lines
}
