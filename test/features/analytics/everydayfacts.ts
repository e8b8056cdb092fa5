/**
 * The building blocks of the answers to the everyday questions, from the records as the API sends them: shops and their
 * months, names, and sums as in SQL. Shares no code with the product.
 */

import type { Fields, Row } from '../../support/oracle/business/amounts.js'
import type { Bill } from '../../support/oracle/business/bills.js'
import type { Business, NamedResource, World } from '../../support/oracle/business/business.js'
import { type Expected, expectedFigures } from '../../support/oracle/business/figures.js'
import { firstDays, monthsBetween } from '../../support/oracle/business/months.js'
import { businessesOf, expectedRows } from '../../support/oracle/business/rows.js'

/** A figure of several shops, months or days: null if nothing of it is known. */
export interface Cell {
  readonly numerator: number | null
  readonly denominator: number | null
  readonly left: number
}

/** A bill with its business, since ids are only unique within a tenant. */
export interface Owned {
  readonly business: Business
  readonly bill: Bill
  readonly order: Fields
}

export interface Period {
  readonly key: string
  readonly period: string
  cell(name: string): Cell
}

const hours = new Set(['hours_sold', 'hours_per_order'])
const perHour = new Set(['effective_labor_rate'])

/** The sum of what is known; null if nothing is. */
export function sumKnown(values: readonly (number | bigint | null | undefined)[]): number | null {
  const known = values.filter((value) => value !== null && value !== undefined).map(Number)
  return known.length === 0 ? null : known.reduce((all, one) => all + one, 0)
}

export function ratio(top: number | null, bottom: number | null, factor = 1): number | null {
  return top === null || bottom === null || bottom === 0 ? null : (factor * top) / bottom
}

export function cellOf(expected: readonly (Expected | undefined)[], name: string): Cell {
  const size = hours.has(name) ? 1e9 : 1
  const below = perHour.has(name) ? 1e9 : 1
  const isSane = (value: bigint): boolean => size === 1 || (value < 10n ** 18n && value > -(10n ** 18n))
  return {
    numerator: sumKnown(
      expected.map((one) => {
        const value = one === undefined ? 0n : one.numerator
        return value === null || !isSane(value) ? null : Number(value) / size
      }),
    ),
    denominator: sumKnown(
      expected.map((one) => {
        if (one === undefined) return 0
        return one.numerator === null ? null : Number(one.denominator ?? 0n) / below
      }),
    ),
    left: sumKnown(expected.map((one) => one?.left ?? 0)) ?? 0,
  }
}

const inPeriods = (all: ReturnType<typeof expectedFigures>): [string, string, Map<string, Expected>][] =>
  [...all].map(([key, figures]) => {
    const [tenant = '', shop = '', ...period] = key.split('-')
    return [`${tenant}-${shop}`, period.join('-'), figures]
  })

export class Facts {
  readonly businesses: Business[]
  readonly #months: Map<string, Map<string, Expected>>
  readonly #days: Map<string, Map<string, Expected>>
  readonly #rows = new Map<string, Row[]>()
  readonly bills: readonly Owned[]
  /** Orders that were deleted after a first sync. */
  readonly deleted: readonly Owned[]
  /** The day of each shop's first invoice. */
  readonly firstDays: ReadonlyMap<string, string>
  #frame: readonly Period[] | undefined

  constructor(readonly world: World) {
    this.businesses = businessesOf(world)
    this.#months = expectedFigures(this.businesses, (day) => day?.slice(0, 7) ?? null)
    this.#days = expectedFigures(this.businesses, (day) => day)
    const owned = (business: Business, bills: readonly Bill[]): Owned[] =>
      bills.map((bill) => ({ business, bill, order: bill.order }))
    this.bills = this.businesses.flatMap((business) => owned(business, business.bills))
    this.deleted = this.businesses.flatMap((business) => owned(business, business.deleted))
    this.firstDays = firstDays(this.businesses)
  }

  /** The rows that the oracle expects from a view. */
  rows(view: string): Row[] {
    const rows = this.#rows.get(view) ?? expectedRows(view, this.businesses)
    this.#rows.set(view, rows)
    return rows
  }

  /** Invoices by the shop's day of closing. */
  invoices(from: string, to: string): Owned[] {
    return this.bills.filter(({ business, order }) => {
      const day = business.closed(order)
      return order.state === 'invoice' && day !== null && day >= from && day <= to
    })
  }

  /** All records of a list with their business. */
  all(resource: string): { readonly business: Business; readonly record: Fields }[] {
    return this.businesses.flatMap((business) =>
      business.records.of(resource).map((record) => ({ business, record })),
    )
  }

  record(tenant: unknown, resource: string, id: unknown): Fields | undefined {
    return this.businesses.find((one) => one.tenant === Number(tenant))?.record(resource, id)
  }

  #named(columns: string, resource: NamedResource, tenant: unknown, id: unknown): Row {
    const business = this.businesses.find((one) => one.tenant === Number(tenant))
    const { [`${columns}_id`]: _, ...shown } = business?.named(columns, resource, id) ?? {}
    return shown
  }

  shop(tenant: unknown, id: unknown): Row {
    return this.#named('shop', 'shops', tenant, id)
  }

  customer(tenant: unknown, id: unknown): Row {
    return this.#named('customer', 'customers', tenant, id)
  }

  staff(columns: 'technician' | 'advisor', tenant: unknown, id: unknown): Row {
    return this.#named(columns, 'staffs', tenant, id)
  }

  vendor(tenant: unknown, id: unknown): Row {
    return this.#named('vendor', 'vendors', tenant, id)
  }

  tenant({ tenant }: Business): Row {
    return { tenant_id: tenant, tenant_name: `tenant ${tenant}` }
  }

  /** The shop for a key in the figures, such as `101-2` or `101-none`. */
  shopOf(key: string): Row {
    const [tenant, shop] = key.split('-')
    return this.shop(tenant, shop === 'none' ? null : Number(shop))
  }

  get shopKeys(): string[] {
    return this.all('shops').map(({ business, record }) => `${business.tenant}-${record.id}`)
  }

  today(key: string): string {
    const [tenant, shop] = key.split('-').map(Number)
    const business = this.businesses.find((one) => one.tenant === tenant)
    return business?.day(shop, this.world.now) ?? ''
  }

  /** Every month of every shop from its first order on, and what has no shop. */
  get months(): readonly Period[] {
    this.#frame ??= this.#framed()
    return this.#frame
  }

  #framed(): Period[] {
    const found = new Map<string, { key: string; period: string }>()
    const add = (key: string, period: string) => found.set(`${key} ${period}`, { key, period })
    for (const key of this.shopKeys) {
      const created = this.bills
        .filter(({ business, order }) => `${business.tenant}-${order.shop_id}` === key)
        .map(({ business, order }) => business.day(order.shop_id, order.created_at)?.slice(0, 7) ?? '')
      const [first = this.today(key).slice(0, 7)] = created.sort()
      for (const month of monthsBetween(first, this.today(key).slice(0, 7))) add(key, month)
    }
    for (const [key, period] of inPeriods(this.#months)) add(key, period)
    return [...found.values()].map(({ key, period }) => ({
      key,
      period,
      cell: (name) => cellOf([this.#months.get(`${key}-${period}`)?.get(name)], name),
    }))
  }

  get days(): Period[] {
    return inPeriods(this.#days).map(([key, period, figures]) => ({
      key,
      period,
      cell: (name) => cellOf([figures.get(name)], name),
    }))
  }

  /** Months that are over, of shops that existed from their first three days on. */
  isWhole({ key, period }: Pick<Period, 'key' | 'period'>): boolean {
    const first = this.firstDays.get(key)
    return first !== undefined && first <= `${period}-03` && period < this.today(key).slice(0, 7)
  }
}

/** A figure of several periods. */
export const over =
  (periods: readonly Period[]) =>
  (name: string): Cell => {
    const cells = periods.map((period) => period.cell(name))
    return {
      numerator: sumKnown(cells.map(({ numerator }) => numerator)),
      denominator: sumKnown(cells.map(({ denominator }) => denominator)),
      left: sumKnown(cells.map(({ left }) => left)) ?? 0,
    }
  }
