/**
 * What shop_months and shop_days show: each figure of the trade, defined once more by what the rows of one view add to it.
 * Knows nothing of schema/figures.
 */
import { cents, type Fields, type Row, shownNanos, sum } from './amounts.js'
import { appointmentLoad, purchases, recommendations } from './besides.js'
import { type Business, groups } from './business.js'
import { lineViews } from './lines.js'
import { orders } from './orders.js'
import { cardAttempts, paymentsLedger } from './payments.js'

/** No sum includes hours of 10^9 and more. */
const sane = (nanos: unknown): unknown => (shownNanos(nanos as bigint) === null ? 0n : nanos)

const invoices = (business: Business): Row[] =>
  orders(business)
    .filter((row) => row.state === 'invoice')
    .map((row) => ({
      ...row,
      is_unpriced: Number(row.lines_without_price) > 0,
      hours: sane(row.labor_nanos),
      hours_where_profit_known: row.gross_profit_cents === null ? 0n : sane(row.labor_nanos),
      hours_with_rate: sane(row.rated_labor_nanos),
      is_partly_rated: row.rated_labor_nanos !== row.labor_nanos,
      labor_net_cents: Number(row.labor_cents) - Number(row.labor_discount_cents),
      discounts_cents: Number(row.labor_discount_cents) + Number(row.parts_discount_cents),
      known_tax_cents: sum(taxes.map((name) => row[name] as bigint | null)),
      is_tax_unknown: row.tax_cents === null,
      is_new: typeof row.customer_id === 'number' ? row.is_first_visit === true : null,
    }))
const taxes = ['labor_tax_cents', 'parts_tax_cents', 'sublets_tax_cents', 'hazmats_tax_cents']

const payments = (business: Business): Row[] =>
  paymentsLedger(business).map((row) => {
    const part = (is: unknown): unknown => (is === true || row.amount_cents === null ? row.amount_cents : 0n)
    return { ...row, refund_cents: part(row.is_refund), deposit_cents: part(row.is_deposit) }
  })

/** Rows, the day by which they are cut, and the figures to which they add. */
interface Source {
  readonly rows: (business: Business) => Row[]
  readonly day: string
  /**
   * `FIGURE: NUMERATOR / DENOMINATOR ! LEFT OUT`: columns of the rows. Sums, where null is unknown and a flag counts as 1; or how
   * many `distinct` values there are, or `known` ones. A row whose numerator is unknown is left out, and one whose last column is
   * true is counted as left out, too.
   */
  readonly figures: string
}

const sources: readonly Source[] = [
  {
    rows: invoices,
    day: 'closed_on',
    figures: `
      invoices: one
      sales_cents: sales_cents ! is_unpriced
      average_repair_order: sales_cents / one ! is_unpriced
      gross_profit_cents: gross_profit_cents
      gross_margin: gross_profit_cents / sales_where_profit_known_cents
      gross_profit_per_hour: gross_profit_cents / hours_where_profit_known
      hours_sold: hours ! is_unpriced
      hours_per_order: hours / one ! is_unpriced
      effective_labor_rate: labor_net_cents / hours_with_rate ! is_partly_rated
      cars: distinct vehicle_id
      customers: distinct customer_id
      new_customers: is_new
      discounts_cents: discounts_cents
      supply_fees_cents: supply_fee_cents
      invoiced_cents: total_cents
      tax_cents: known_tax_cents ! is_tax_unknown
      labor_tax_cents: labor_tax_cents
      parts_tax_cents: parts_tax_cents
      sublets_tax_cents: sublets_tax_cents
      hazmats_tax_cents: hazmats_tax_cents
      exempt_sales_cents: exempt_sales_cents
      taxable_sales_cents: taxable_sales_cents
      untaxed_sales_cents: untaxed_sales_cents
      days_to_close: minutes_to_close / known minutes_to_close
      share_late: is_late / known is_late`,
  },
  {
    rows: (business) => invoices(business).filter((row) => typeof row.vehicle_id === 'number'),
    day: 'closed_on',
    figures: 'hours_per_car: hours / distinct vehicle_id ! is_unpriced',
  },
  {
    rows: (business) =>
      orders(business).map((row) => {
        return { ...row, is_sold: typeof row.started_at === 'string' || row.state !== 'estimate' }
      }),
    day: 'created_on',
    figures: 'estimate_close_rate: is_sold / one',
  },
  {
    rows: lineViews.parts_margin,
    day: 'day',
    figures: `
      parts_margin: margin_cents / sold_where_margin_known_cents
      parts_cost_cents: cost_cents`,
  },
  {
    rows: payments,
    day: 'paid_on',
    figures: `
      collected_cents: amount_cents
      refunds_cents: refund_cents
      deposits_cents: deposit_cents`,
  },
  {
    rows: (business) =>
      recommendations(business).map((row) => {
        return { ...row, is_sold: [row.approved, row.imported, row.sold_later].includes(true) }
      }),
    day: 'recommended_on',
    figures: 'recommendation_close_rate: is_sold / one',
  },
  {
    rows: (business) => recommendations(business).filter((row) => row.is_to_sell === true),
    day: 'recommended_on',
    figures: 'to_sell_cents: value_cents',
  },
  { rows: purchases, day: 'day', figures: 'purchases_cents: amount_cents' },
  { rows: cardAttempts, day: 'day', figures: 'declined_cards: failed' },
  {
    rows: (business) =>
      appointmentLoad(business).map((row) => {
        const isMeant = row.outcome !== 'no order' && row.outcome !== 'to come'
        return { ...row, has_come: isMeant ? row.outcome === 'came' : null }
      }),
    day: 'day',
    figures: 'appointments_kept: has_come / known has_come',
  },
]

const valueIn = (row: Row, column: string): unknown => (column === 'one' ? 1n : (row[column] ?? null))

function shownOf(measure: string, rows: readonly Row[]): unknown {
  const [what, column = measure] = measure.split(' ')
  const values = rows.map((row) => valueIn(row, column)).filter((value) => value !== null)
  if (what === 'distinct') return new Set(values).size
  if (what === 'known') return values.length
  const total = sum(values.map((value) => BigInt(value as bigint)))
  return column.startsWith('hours') ? shownNanos(total) : total
}

/** The columns of a figure: null if no row has a value, and 0 if there is no row. */
function columnsOf(figure: string, rows: readonly Row[]): Row {
  const [, name = '', numerator = '', denominator, leaves = ''] =
    /^(\w+): ([\w ]+?)(?: \/ ([\w ]+?))?(?: ! (\w+))?$/.exec(figure) ?? []
  const column = numerator.replace('distinct ', '')
  const isUnknown = (row: Row): boolean => valueIn(row, column) === null
  const isNull = rows.length > 0 && rows.every(isUnknown)
  const shown = (measure: string): unknown => (isNull ? null : shownOf(measure, rows))
  return {
    [denominator ? `${name}_numerator` : name]: shown(numerator),
    [`${name}_denominator`]: denominator && shown(denominator),
    [`${name}_left_out`]: rows.filter((row) => isUnknown(row) || row[leaves] === true).length,
  }
}

/** By shop and period, of each source the rows that belong there. */
type Placed = ReadonlyMap<string, readonly Row[][]>
const placeOf = (shop: unknown, period: unknown): string => JSON.stringify([shop ?? null, period ?? null])

/** Days are cut to the length of a period. */
function placed(business: Business, length: number): Placed {
  const found = new Map<string, Row[][]>()
  for (const [i, { rows, day }] of sources.entries())
    for (const row of rows(business).map((row) => business.completed(row))) {
      const place = placeOf(row.shop_id, (row[day] as string | null)?.slice(0, length))
      const lists = found.get(place) ?? sources.map(() => [])
      lists[i]?.push(row)
      found.set(place, lists)
    }
  return found
}

const figuresOf = (lists: readonly Row[][] = []): Row =>
  Object.assign(
    {},
    ...sources.flatMap(({ figures }, i) =>
      figures
        .trim()
        .split(/\n */)
        .map((figure) => columnsOf(figure, lists[i] ?? [])),
    ),
  )

const isSomething = (row: Row): boolean => Object.values(row).some((value) => Number(value ?? 0) !== 0)

/** By shop, the day of its first invoice. */
const firstDays = (business: Business): ReadonlyMap<unknown, string | undefined> =>
  new Map(
    groups(business.invoices, ({ order }) => [order.shop_id]).map(([{ order }, bills]) => [
      order.shop_id ?? null,
      business.closings(bills)[0],
    ]),
  )

/** Days on which something happened. A shop is open from its first invoice on, and on days when it worked. */
function shopDays(business: Business): Row[] {
  const days = placed(business, 10)
  const began = business.bills.flatMap(({ order: { shop_id, created_at, started_at } }) => {
    const [created, started] = [created_at, started_at].map((at) => business.day(shop_id, at))
    return created && started && created <= started ? [placeOf(shop_id, started)] : []
  })
  const first = firstDays(business)
  return [...new Set([...days.keys(), ...began])].flatMap((place) => {
    const [shop_id, day] = JSON.parse(place) as [unknown, string | null]
    const figures = figuresOf(days.get(place))
    const hasBegun = began.includes(place)
    if (!isSomething(figures) && !(hasBegun && shop_id !== null)) return []
    const is_open = day !== null && day >= (first.get(shop_id) ?? '9')
    return [{ shop_id, day, ...figures, is_open, is_open_day: hasBegun || figures.invoices !== 0n }]
  })
}

/**
 * The balances of a shop at the end of a month, from closings and payments; and on how many orders something else may have
 * been owed then.
 */
function balances(business: Business, shop: unknown, month: string): Row {
  const isUpTo = (day: string | null): boolean => day !== null && day.slice(0, 7) <= month
  const isOver = month < business.today(shop).slice(0, 7)
  const paidOn = ({ shop_id }: Fields, { created_at }: Fields): string | null =>
    business.day(shop_id, created_at)
  const ofOrder = (payments: readonly Fields[], { id }: Fields): readonly Fields[] =>
    payments.filter(({ repair_order_id }) => repair_order_id === id)
  const [all, gone] = [business.records.of('payments'), business.records.gone('payments')]
  let [owed, held, left] = [0n, 0n, 0]
  for (const { order, total } of business.bills.filter((bill) => (bill.order.shop_id ?? null) === shop)) {
    const isInvoice = order.state === 'invoice'
    const closed = business.closed(order)
    // Without a day, a deposit was held from the first, and an invoice paid when it was closed.
    const unknown = isInvoice && isUpTo(closed) ? closed : business.day(order.shop_id, order.created_at)
    const until = ofOrder(all, order).filter((payment) => isUpTo(paidOn(order, payment) ?? unknown))
    const paid = sum(until.map(({ amount_cents }) => cents(amount_cents)))
    // A payment that is gone counted until that was found.
    const hasLost = ofOrder(gone, order).some((payment) => isUpTo(paidOn(order, payment)))
    if (isInvoice && isUpTo(closed)) {
      if (total === null || (isOver && hasLost)) left += 1
      if (total !== null && total > paid) owed += total - paid
    } else if (!isInvoice || closed !== null) held += paid
    // It was opened again.
    if (!isInvoice && isOver && isUpTo(business.day(order.shop_id, order.picked_up_at))) left += 1
  }
  return { receivables_cents: owed, deposits_held_cents: held, receivables_left_out: left }
}

/** All months from one to another. */
function monthsBetween(first: string, last: string): string[] {
  const numberOf = (month: string): number => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1
  const [from, to] = [numberOf(first), numberOf(last)]
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => {
    const [year, month] = [Math.floor((from + i) / 12), ((from + i) % 12) + 1]
    return `${year}-${String(month).padStart(2, '0')}`
  })
}

/** What only a snapshot tells. */
const untold = [
  'inventory_value_cents',
  'receivables_over_30_cents',
  'receivables_over_60_cents',
  'receivables_over_90_cents',
  'credits_cents',
  'open_estimates',
  'open_estimates_cents',
  'orders_in_progress',
  'work_in_progress_cents',
]

/**
 * Every month from the first one with something on, before there is a snapshot. A month is whole when it is over, and had the
 * shop from its first days on; every list has been read here.
 */
function shopMonths(business: Business): Row[] {
  const found = placed(business, 7)
  const byShop = groups(
    [...found.keys()].map((place) => JSON.parse(place) as [unknown, string | null]),
    ([shop]) => [shop],
  )
  const firsts = firstDays(business)
  return byShop.flatMap(([[shop_id], places]) => {
    const current = business.today(shop_id).slice(0, 7)
    const some = places.flatMap(([, month]) => month ?? []).sort()
    const months = [...monthsBetween(some[0] ?? '9', current), null]
    const first_day = firsts.get(shop_id)
    return months.flatMap((month) => {
      const figures = figuresOf(found.get(placeOf(shop_id, month)))
      const is_open = month !== null && first_day !== undefined && month >= first_day.slice(0, 7)
      const owed = month === null ? {} : balances(business, shop_id, month)
      if ((shop_id === null || month === null) && !isSomething({ ...figures, ...owed })) return []
      return [
        {
          shop_id,
          month,
          first_day,
          ...figures,
          ...Object.fromEntries(untold.map((name) => [name, null])),
          receivables_cents: 0n,
          deposits_held_cents: 0n,
          receivables_left_out: 0,
          ...owed,
          month_start: month && `${month}-01`,
          receivables_is_reckoned: true,
          is_open,
          is_whole: is_open && month < current && first_day <= `${month}-03`,
        },
      ]
    })
  })
}

export const periodViews = { shop_days: shopDays, shop_months: shopMonths }
