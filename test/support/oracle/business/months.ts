/** What shop_months and shop_days show of each figure, and what follows from the payments for the end of a month. */
import { cents, type Row } from './amounts.js'
import type { Business, World } from './business.js'
import type { Expected } from './figures.js'

/** What a figure is there: how its columns are named follows from it. */
export interface Shape {
  readonly name: string
  readonly isRatio: boolean
  readonly hasLeft: boolean
}

/** Hours are numbers with nine decimals in the views, and billionths here. */
const hoursIn: Readonly<Record<string, 'numerator' | 'denominator'>> = {
  hours_sold: 'numerator',
  hours_per_order: 'numerator',
  hours_per_car: 'numerator',
  effective_labor_rate: 'denominator',
  gross_profit_per_hour: 'denominator',
}

type Shown = Readonly<Record<'numerator' | 'denominator' | 'left', string | null>>

/** What a row shows of a figure. Floats have fifteen digits: a sum of absurd hours beyond them isn't compared. */
export function shownIn(row: Row, { name, isRatio, hasLeft }: Shape): Shown {
  const whole = (part: 'numerator' | 'denominator', value: unknown): string | null => {
    if (value === null || value === undefined) return null
    return hoursIn[name] === part ? (Number(value) * 1e9).toPrecision(13) : String(value)
  }
  return {
    numerator: whole('numerator', row[isRatio ? `${name}_numerator` : name]),
    denominator: isRatio ? whole('denominator', row[`${name}_denominator`]) : null,
    left: hasLeft ? String(row[`${name}_left_out`]) : null,
  }
}

const absurd = 10n ** 18n

/** What it has to show: hours of 10^9 and more are null, and a figure without rows is 0. */
export function wantedOf(expected: Expected | undefined, { name, isRatio, hasLeft }: Shape): Shown {
  const whole = (part: 'numerator' | 'denominator', value: bigint | null): string | null => {
    if (value === null) return null
    if (hoursIn[name] !== part) return String(value)
    return value >= absurd || value <= -absurd ? null : Number(value).toPrecision(13)
  }
  const numerator = expected === undefined ? 0n : expected.numerator
  const denominator = numerator === null ? null : (expected?.denominator ?? 0n)
  return {
    numerator: whole('numerator', numerator),
    denominator: isRatio ? whole('denominator', denominator) : null,
    left: hasLeft ? String(expected?.left ?? 0) : null,
  }
}

export interface ShopMonth {
  readonly tenant: number
  readonly shop: unknown
  readonly month: string
}

/** The balances of a shop at the end of a month, and on how many orders something else may have been owed then. */
export function balancesAfter(
  { now }: World,
  businesses: readonly Business[],
  { tenant, shop, month }: ShopMonth,
): Record<'receivables_cents' | 'deposits_held_cents' | 'receivables_left_out', string> {
  const business = businesses.find((one) => one.tenant === tenant)
  if (!business) throw new Error(`no tenant ${tenant}`)
  const { records } = business
  const isUpTo = (day: string | null): boolean => day !== null && day.slice(0, 7) <= month
  let [owed, held, left] = [0n, 0n, 0]
  for (const { order, total } of business.bills) {
    if ((order.shop_id ?? null) !== (shop ?? null)) continue
    const isInvoice = order.state === 'invoice'
    const closed = business.closed(order)
    const paid = records
      .of('payments')
      .filter(({ repair_order_id }) => repair_order_id === order.id)
      .filter(({ created_at }) => isUpTo(business.day(order.shop_id, created_at) ?? closed))
      .map(({ amount_cents }) => cents(amount_cents) ?? 0n)
      .reduce((sum, one) => sum + one, 0n)
    const isOver = month < now.slice(0, 7)
    // A payment that is gone counted until that was found.
    const hasLost = records
      .gone('payments')
      .some(
        ({ repair_order_id, created_at }) =>
          repair_order_id === order.id && isUpTo(business.day(order.shop_id, created_at)),
      )
    if (isInvoice && isUpTo(closed)) {
      if (total === null || (isOver && hasLost)) left += 1
      if (total !== null && total > paid) owed += total - paid
    } else if (!isInvoice || closed !== null) held += paid
    if (!isInvoice && isOver && isUpTo(business.day(order.shop_id, order.picked_up_at))) left += 1
  }
  return {
    receivables_cents: String(owed),
    deposits_held_cents: String(held),
    receivables_left_out: String(left),
  }
}

/** The days on which a shop closed an invoice or began work, as `TENANT-SHOP-DAY`. */
export const openDays = (businesses: readonly Business[]): string[] => [
  ...new Set(
    businesses.flatMap((business) =>
      business.bills.flatMap(({ order }) => {
        const closed = order.state === 'invoice' ? business.closed(order) : null
        const days = [closed, business.day(order.shop_id, order.started_at)].filter((day) => day !== null)
        return days.map((day) => `${business.tenant}-${order.shop_id ?? 'none'}-${day}`)
      }),
    ),
  ),
]

/** The day of each shop's first invoice, by `TENANT-SHOP`. */
export const firstDays = (businesses: readonly Business[]): ReadonlyMap<string, string> => {
  const first = new Map<string, string>()
  for (const business of businesses)
    for (const { order } of business.invoices) {
      const [key, day] = [`${business.tenant}-${order.shop_id ?? 'none'}`, business.closed(order)]
      if (day !== null && day < (first.get(key) ?? '9')) first.set(key, day)
    }
  return first
}

/** All months from one to another. */
export function monthsBetween(first: string, last: string): string[] {
  const months: string[] = []
  for (let month = first; month <= last; ) {
    months.push(month)
    const [year = 0, number = 0] = month.split('-').map(Number)
    month = number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, '0')}`
  }
  return months
}
