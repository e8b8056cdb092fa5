/**
 * What each service of a repair order comes to: sums over its lines, of what these add to the order (nets.ts). Since the
 * lines share the order's discounts to the cent, so do the services.
 */
import type { Stored, StoredRow } from '../derive.js'
import { minus, plus, type Whole } from '../exact.js'
import { cents, integer, nullable } from '../resource.js'
import { absurdNumber, below, type LinesOfKind } from './billlines.js'
import { netWidth } from './nets.js'

const sum = (what: string) => cents(`${what}. Lines whose worth is unknown are worth 0 here.`)

/** The columns of services, by name. */
export const serviceColumns = {
  _labor_nine: nullable(
    integer('Sum of the hours of its labors, in billionths of an hour; null from 10^9 hours on.'),
  ),
  _labor_cents: sum('Sum of its labors, before discount and tax'),
  _labor_discount_cents: cents(
    "Its share of the order's discount on labor: those of all services sum to it exactly.",
  ),
  _parts_cents: sum('Sum of its parts, before discount and tax'),
  _parts_discount_cents: cents(
    "Its share of the order's discount on parts: those of all services sum to it exactly.",
  ),
  _sublets_cents: sum('Sum of its sublets, before tax'),
  _hazmats_cents: sum('Sum of its hazmats, before tax'),
  _cost_cents: cents('Sum of the known costs of its parts and sublets.'),
  _gross_profit_cents: nullable(
    cents('What its lines come to after discounts, less its cost; null where a price or a cost is unknown.'),
  ),
  _hours_unknown: integer('Its labors whose hours are unknown or absurd.'),
} as const

/** The places of the columns among a service's values. */
const at = { hours: 0, labor: 1, parts: 3, sublets: 5, hazmats: 6, cost: 7, profit: 8, unknownHours: 9 }
const width = 10

/** The lines of one kind, and their nets. */
interface LinesWithNets {
  readonly lines: LinesOfKind
  readonly nets: readonly Stored[]
}

interface Kinds {
  /** Hours: line by line, in billionths; null where they are unknown. */
  readonly labor: LinesWithNets & { readonly hours: readonly (Whole | null)[] }
  readonly parts: LinesWithNets
  readonly sublets: LinesWithNets
  readonly hazmats: LinesWithNets
}

class ServiceSums {
  readonly values: Stored[]
  readonly #places = new Map<Stored, number>()

  constructor(private readonly services: readonly StoredRow[]) {
    this.values = new Array(services.length * width).fill(0)
    for (const [i, { id = null }] of services.entries()) this.#places.set(id, i * width)
  }

  #add(place: number, value: Stored | undefined): void {
    this.values[place] = plus(this.values[place] as Whole, value as Whole)
  }

  /** Calls with each line and the place of its service's values; lines of one service nearly always follow each other. */
  each(rows: readonly StoredRow[], work: (line: number, place: number) => void): void {
    let last: Stored = null
    let place: number | undefined
    for (const [i, { service_id: service = null }] of rows.entries()) {
      if (service !== last) place = this.#places.get(service)
      last = service
      if (place !== undefined) work(i, place)
    }
  }

  /** Amounts, and the discounts behind them where the kind has any. */
  addAmounts({ lines, nets }: LinesWithNets, column: number, hasDiscount: boolean): void {
    this.each(lines.rows, (i, place) => {
      const amount = nets[i * netWidth] ?? null
      if (amount === null) {
        this.values[place + at.profit] = null
        return
      }
      this.#add(place + column, amount)
      if (hasDiscount) this.#add(place + column + 1, nets[i * netWidth + 1])
    })
  }

  addCosts({ lines: { rows, costs } }: LinesWithNets): void {
    this.each(rows, (i, place) => {
      const cost = costs[i] ?? null
      if (cost === null) this.values[place + at.profit] = null
      else this.#add(place + at.cost, cost)
    })
  }

  addHours({ lines: { rows }, hours }: Kinds['labor']): void {
    this.each(rows, (i, place) => {
      const sold = hours[i] ?? null
      this.#add(place + (sold === null ? at.unknownHours : at.hours), sold ?? 1)
    })
  }

  /** Once all lines are in: what the sums make. */
  finish(): readonly Stored[] {
    const { values } = this
    for (let first = 0; first < this.services.length * width; first += width) {
      const of = (column: number) => values[first + column] as Whole
      values[first + at.hours] = below(of(at.hours), absurdNumber)
      if (values[first + at.profit] === null) continue
      const gross = plus(plus(of(at.labor), of(at.parts)), plus(of(at.sublets), of(at.hazmats)))
      const off = plus(plus(of(at.labor + 1), of(at.parts + 1)), of(at.cost))
      values[first + at.profit] = minus(gross, off)
    }
    return values
  }
}

/** Service after service a value for each of the columns. */
export function servicesOf(services: readonly StoredRow[], kinds: Kinds): readonly Stored[] {
  const sums = new ServiceSums(services)
  sums.addHours(kinds.labor)
  sums.addAmounts(kinds.labor, at.labor, true)
  sums.addAmounts(kinds.parts, at.parts, true)
  sums.addAmounts(kinds.sublets, at.sublets, false)
  sums.addAmounts(kinds.hazmats, at.hazmats, false)
  sums.addCosts(kinds.parts)
  sums.addCosts(kinds.sublets)
  return sums.finish()
}
