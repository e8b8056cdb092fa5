/**
 * The totals of each service of a repair order: sums over what its lines add to the order (nets.ts). Since the lines
 * share the order's discounts to the cent, so do the services.
 */
import type { RuleSettings, Stored, StoredRow } from '../derive.js'
import { minus, plus, unit, type Whole } from '../exact.js'
import { cents, field, integer, nullable, text } from '../resource.js'
import { absurd, below, type LinesOfKind, type Services } from './billlines.js'
import { netWidth } from './nets.js'

const sum = (what: string) => cents(`${what}. Lines whose amount is unknown count as 0.`)

/** The columns of services, by name. */
export const serviceColumns = {
  _labor_nine: nullable(
    integer('Sum of the hours of its labor lines, in billionths of an hour; null at 10^9 hours or more.'),
  ),
  _labor_cents: sum('Sum of its labor lines, before discount and tax'),
  _labor_discount_cents: cents(
    "Its share of the order's labor discount. The shares of all services sum to it exactly.",
  ),
  _parts_cents: sum('Sum of its parts, before discount and tax'),
  _parts_discount_cents: cents(
    "Its share of the order's parts discount. The shares of all services sum to it exactly.",
  ),
  _sublets_cents: sum('Sum of its sublets, before tax'),
  _hazmats_cents: sum('Sum of its hazmats, before tax'),
  _cost_cents: cents('Sum of the known costs of its parts and sublets.'),
  _gross_profit_cents: nullable(
    cents('Its lines after discounts, minus its cost; null if a price or cost is unknown.'),
  ),
  _hours_unknown: integer('Its labor lines whose hours are unknown or out of range.'),
  _completed_on: nullable(field('day', "The day it was marked completed, in the shop's time zone.")),
  _completed_at_local: nullable(
    text("When it was marked completed, in the shop's local time, as `YYYY-MM-DD HH:MM:SS`."),
  ),
} as const

/** The positions of the columns among a service's values; a discount comes after its amount. */
const at = {
  hours: 0,
  labor: 1,
  parts: 3,
  sublets: 5,
  hazmats: 6,
  cost: 7,
  profit: 8,
  unknownHours: 9,
  day: 10,
  local: 11,
}
const width = 12

/** The lines of one kind, and their nets. */
interface LinesWithNets {
  readonly lines: LinesOfKind
  readonly nets: readonly Stored[]
}

interface Kinds {
  /** Hours of each line, in billionths; null if unknown. */
  readonly labor: LinesWithNets & { readonly hours: readonly (Whole | null)[] }
  readonly parts: LinesWithNets
  readonly sublets: LinesWithNets
  readonly hazmats: LinesWithNets
}

interface KindColumns {
  /** Where its amounts are added. */
  readonly amount: number
  readonly hasDiscount?: boolean
  readonly hasCost?: boolean
}

function add(values: Stored[], place: number, value: Stored | undefined): void {
  if (value !== 0) values[place] = plus(values[place] as Whole, value as Whole)
}

/** Adds one kind of lines to their services; lines of the same service are nearly always next to each other. */
function addLines(
  values: Stored[],
  { places }: Services,
  { lines: { rows, costs }, nets }: LinesWithNets,
  { amount: column, hasDiscount = false, hasCost = false }: KindColumns,
): void {
  let last: Stored | undefined
  let first: number | undefined
  for (let i = 0; i < rows.length; i++) {
    const service = rows[i]?.service_id
    if (service !== last) first = places.get(service ?? null)
    last = service
    if (first === undefined) continue
    const place = first * width
    const amount = nets[i * netWidth] ?? null
    const cost = hasCost ? (costs[i] ?? null) : 0
    if (amount === null || cost === null) values[place + at.profit] = null
    if (amount !== null) add(values, place + column, amount)
    if (amount !== null && hasDiscount) add(values, place + column + 1, nets[i * netWidth + 1])
    if (cost !== null) add(values, place + at.cost, cost)
  }
}

function addHours(values: Stored[], { places }: Services, { lines: { rows }, hours }: Kinds['labor']): void {
  for (let i = 0; i < rows.length; i++) {
    const first = places.get(rows[i]?.service_id ?? null)
    if (first === undefined) continue
    const sold = hours[i] ?? null
    add(values, first * width + (sold === null ? at.unknownHours : at.hours), sold ?? 1)
  }
}

/** Computes the values that depend on a service's sums. */
function finish(values: Stored[], first: number): void {
  const of = (column: number) => values[first + column] as Whole
  values[first + at.hours] = below(of(at.hours), absurd.number * unit)
  if (values[first + at.profit] === null) return
  const gross = plus(plus(of(at.labor), of(at.parts)), plus(of(at.sublets), of(at.hazmats)))
  const off = plus(plus(of(at.labor + 1), of(at.parts + 1)), of(at.cost))
  values[first + at.profit] = minus(gross, off)
}

/** For each service, a value for each of the columns. */
export function servicesOf(
  services: Services,
  { order, settings }: { readonly order: StoredRow; readonly settings: RuleSettings },
  { labor, parts, sublets, hazmats }: Kinds,
): readonly Stored[] {
  const values: Stored[] = new Array(services.rows.length * width).fill(0)
  addHours(values, services, labor)
  addLines(values, services, labor, { amount: at.labor, hasDiscount: true })
  addLines(values, services, parts, { amount: at.parts, hasDiscount: true, hasCost: true })
  addLines(values, services, sublets, { amount: at.sublets, hasCost: true })
  addLines(values, services, hazmats, { amount: at.hazmats })
  for (let i = 0; i < services.rows.length; i++) {
    const first = i * width
    finish(values, first)
    const completed = services.rows[i]?.completed_at
    const done = typeof completed === 'string' ? settings.shopTime(order.shop_id ?? null, completed) : null
    values[first + at.day] = done?.day ?? null
    values[first + at.local] = done?.local ?? null
  }
  return values
}
