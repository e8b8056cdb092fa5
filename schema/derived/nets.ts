/**
 * What each line of a repair order adds to it. A discount and a tax are the order's, of a kind of lines: they are shared
 * out by running sums, so that the lines of a kind sum to it to the cent. To a line falls the share of all lines up to
 * and with it, less that of the lines before it; lines come by the ids of their services, then by their own.
 */
import type { Stored, StoredRow } from '../derive.js'
import { minus, plus, rounded, times, type Whole } from '../exact.js'
import { cents, nullable } from '../resource.js'

const net = (doc: string) => nullable(cents(doc))

const amount = (what: string) =>
  net(`${what}, rounded to cents; null where that is unknown or absurd. Before discount and tax.`)
const discount = (kind: string) =>
  net(
    `Its share of the order's discount on ${kind}: those of all ${kind} sum to it exactly. Null where the amount is.`,
  )
const noDiscount = net('0: an order has no discount on them. Null where the amount is.')
const tax = (kind: string, besides = '') =>
  net(
    `Its share of the order's tax on ${kind}: those of all ${kind} sum to it exactly${besides}. Null where that tax or the amount is unknown.`,
  )
const cost = (what: string) => net(`${what}; null where that is unknown or absurd.`)
const noCost = net('Null: the API shows no cost of them.')

/** By the arrays of a service. */
const columns = {
  labors: {
    _amount_cents: amount('Hours times the labor rate of the service'),
    _discount_cents: discount('labor'),
    _tax_cents: tax('labor'),
    _cost_cents: noCost,
  },
  parts: {
    _amount_cents: amount('Quantity times price'),
    _discount_cents: discount('parts'),
    _tax_cents: tax('parts', ', less that of the supply fee'),
    _cost_cents: cost('Quantity times cost, rounded to cents'),
  },
  hazmats: {
    _amount_cents: amount('Quantity times fee'),
    _discount_cents: noDiscount,
    _tax_cents: tax('hazmats'),
    _cost_cents: noCost,
  },
  sublets: {
    _amount_cents: net('Its price; null where that is unknown or absurd. Before tax.'),
    _discount_cents: noDiscount,
    _tax_cents: tax('sublets'),
    _cost_cents: cost('Its cost'),
  },
} as const

/** The columns of lines that the rule of `repair_order_totals` computes. */
export const lineNets = { by: 'repair_order_totals', columns } as const

/** Shares are held within so many cents either way: sums of hundreds of them fit 64 bits. */
const mostShare = 9_000_000_000_000_000

const held = (cents: Whole): Whole =>
  cents > mostShare ? mostShare : cents < -mostShare ? -mostShare : cents

/** The lines of one kind, one after the other as the record has them. */
export interface NetLines {
  readonly rows: readonly StoredRow[]
  /** Null where unknown. */
  readonly amounts: readonly (Whole | null)[]
  /** Empty where the kind has none. */
  readonly costs: readonly (Whole | null)[]
  /** The sum of the known amounts. */
  readonly cents: Whole
}

/** What the order takes off and puts on the lines of one kind. */
export interface OnLines {
  readonly discount: Whole
  /** The tax on taxable lines of so many cents; null where the tax of the kind is unknown. */
  readonly taxUpTo: ((taxable: Whole) => Whole) | null
}

export interface SharedNets {
  /** For each line a value for each of the columns. */
  readonly values: readonly (readonly Stored[])[]
  /** The tax of all lines; null where it is unknown. */
  readonly tax: Whole | null
}

const isAfter = (a: StoredRow | undefined, b: StoredRow | undefined): boolean => {
  const [first, second] = [a?.service_id ?? 0, b?.service_id ?? 0]
  return first === second ? (a?.id ?? 0) > (b?.id ?? 0) : first > second
}

/** The places of the lines in the order in which they take their shares. They nearly always come so. */
function placesOf(rows: readonly StoredRow[]): number[] {
  const places = rows.map((_, place) => place)
  return rows.some((row, place) => place > 0 && isAfter(rows[place - 1], row))
    ? places.sort((a, b) => (isAfter(rows[a], rows[b]) ? 1 : -1))
    : places
}

/** A line whose amount is unknown takes no share. */
export function netsOf(lines: NetLines, { discount, taxUpTo }: OnLines): SharedNets {
  const { rows, amounts, costs, cents } = lines
  const values: Stored[][] = new Array(rows.length)
  const isShared = discount !== 0 && cents !== 0
  let sum: Whole = 0
  let taxable: Whole = 0
  let off: Whole = 0
  let taxed: Whole = 0
  for (const place of placesOf(rows)) {
    const amount = amounts[place] ?? null
    const cost = costs[place] ?? null
    if (amount === null) {
      values[place] = [null, null, null, cost]
      continue
    }
    let share: Whole = 0
    let tax: Whole | null = taxUpTo && 0
    if (isShared) {
      sum = plus(sum, amount)
      const upTo = held(rounded(times(discount, sum), cents))
      share = minus(upTo, off)
      off = upTo
    }
    if (taxUpTo && rows[place]?.taxable !== false) {
      taxable = plus(taxable, amount)
      const upTo = held(taxUpTo(taxable))
      tax = minus(upTo, taxed)
      taxed = upTo
    }
    values[place] = [amount, share, tax, cost]
  }
  return { values, tax: taxUpTo && taxed }
}
