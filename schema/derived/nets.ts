/**
 * What each line of a repair order adds to it. A discount and a tax belong to the order, for one kind of lines. They
 * are distributed by running sums, so the lines of a kind add up to them to the cent: a line gets the share of all
 * lines up to and including it, minus the share of the lines before it. Lines are ordered by their services' ids, then
 * by their own.
 */
import type { Stored, StoredRow } from '../derive.js'
import { minus, plus, rounded, times, type Whole } from '../exact.js'
import { cents, nullable } from '../resource.js'

const net = (doc: string) => nullable(cents(doc))

const amount = (what: string) =>
  net(`${what}, rounded to cents, before discount and tax; null if unknown or out of range.`)
const discount = (kind: string) =>
  net(
    `Its share of the order's discount on ${kind}. The shares sum to the discount exactly. Null if the amount is.`,
  )
const noDiscount = net('0: orders have no discount on them. Null if the amount is.')
const tax = (kind: string, besides = '') =>
  net(
    `Its share of the order's tax on ${kind}. The shares sum to the tax exactly${besides}. Null if that tax or the amount is unknown.`,
  )
const cost = (what: string) => net(`${what}; null if unknown or out of range.`)
const noCost = net('Null: the API shows no cost for them.')

/** The columns of lines that the rule of `repair_order_totals` computes, by the arrays of a service. */
export const lineColumns = {
  labors: {
    _amount_cents: amount('Hours times the labor rate of the service'),
    _discount_cents: discount('labor'),
    _tax_cents: tax('labor'),
    _cost_cents: noCost,
  },
  parts: {
    _amount_cents: amount('Quantity times price'),
    _discount_cents: discount('parts'),
    _tax_cents: tax('parts', ', excluding the tax on the supply fee'),
    _cost_cents: cost('Quantity times cost, rounded to cents'),
  },
  hazmats: {
    _amount_cents: amount('Quantity times fee'),
    _discount_cents: noDiscount,
    _tax_cents: tax('hazmats'),
    _cost_cents: noCost,
  },
  sublets: {
    _amount_cents: net('Its price, before tax; null if unknown or out of range.'),
    _discount_cents: noDiscount,
    _tax_cents: tax('sublets'),
    _cost_cents: cost('Its cost'),
  },
} as const

/** Shares are limited to this many cents in both directions: sums of hundreds of them fit 64 bits. */
const mostShare = 9_000_000_000_000_000

const held = (cents: Whole): Whole =>
  cents > mostShare ? mostShare : cents < -mostShare ? -mostShare : cents

/** The lines of one kind, in the order of the record. */
export interface NetLines {
  readonly rows: readonly StoredRow[]
  /** Null if unknown. */
  readonly amounts: readonly (Whole | null)[]
  /** Empty if the kind has none. */
  readonly costs: readonly (Whole | null)[]
  /** The sum of the known amounts. */
  readonly cents: Whole
}

/** The order's discount and tax on the lines of one kind. */
interface OnLines {
  readonly discount: Whole
  /** The tax on this many cents of taxable lines; null if the tax of the kind is unknown. */
  readonly taxUpTo: ((taxable: Whole) => Whole) | null
}

/** The tax on lines if nothing is taxed. */
export const untaxed = (): Whole => 0

interface SharedNets {
  /** For each line, a value for each of the columns. */
  readonly values: readonly Stored[]
  /** The tax of all lines; null if unknown. */
  readonly tax: Whole | null
  /** The total of the lines that aren't taxable, after discount. */
  readonly exempt: Whole
}

const isAfter = (a: StoredRow | undefined, b: StoredRow | undefined): boolean => {
  const first = a?.service_id ?? 0
  const second = b?.service_id ?? 0
  return first === second ? (a?.id ?? 0) > (b?.id ?? 0) : first > second
}

/** The positions of the lines in the order in which they get their shares; undefined if they are already in it. */
function placesOf(rows: readonly StoredRow[]): number[] | undefined {
  let place = 1
  while (place < rows.length && !isAfter(rows[place - 1], rows[place])) place++
  return place < rows.length
    ? rows.map((_, at) => at).sort((a, b) => (isAfter(rows[a], rows[b]) ? 1 : -1))
    : undefined
}

/** How many columns a line has. */
export const netWidth = 4

/** A line with an unknown amount gets no share. */
export function netsOf(lines: NetLines, { discount, taxUpTo }: OnLines): SharedNets {
  const { rows, amounts, costs, cents } = lines
  const values: Stored[] = new Array(rows.length * netWidth).fill(null)
  const isShared = discount !== 0 && cents !== 0
  const isTaxed = taxUpTo !== null && taxUpTo !== untaxed
  const places = isShared || isTaxed ? placesOf(rows) : undefined
  let sum: Whole = 0
  let taxable: Whole = 0
  let off: Whole = 0
  let taxed: Whole = 0
  let exempt: Whole = 0
  for (let i = 0; i < rows.length; i++) {
    const place = places?.[i] ?? i
    const at = place * netWidth
    const amount = amounts[place] ?? null
    values[at + 3] = costs[place] ?? null
    if (amount === null) continue
    values[at] = amount
    values[at + 1] = 0
    if (isShared) {
      sum = plus(sum, amount)
      const upTo = held(rounded(times(discount, sum), cents))
      values[at + 1] = minus(upTo, off)
      off = upTo
    }
    values[at + 2] = taxUpTo === null ? null : 0
    if (rows[place]?.taxable === false) {
      exempt = plus(exempt, amount)
      if (isShared) exempt = minus(exempt, values[at + 1] as Whole)
    } else if (isTaxed) {
      taxable = plus(taxable, amount)
      const upTo = held(taxUpTo(taxable))
      values[at + 2] = minus(upTo, taxed)
      taxed = upTo
    }
  }
  return { values, tax: taxUpTo === null ? null : taxed, exempt }
}
