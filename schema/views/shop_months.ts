import { figures } from '../figures/index.js'
import { firstInvoiceDay } from '../open.js'
import { figuresOfMonths, momentsOf, type PlainLeg, periodColumns, stacked } from '../periods.js'
import { changeColumn, type Reckoned, reckonedColumns, reckonedLegs, soFar } from '../reckoned.js'
import { col, common, defineView, type ViewColumn, type ViewWords } from '../view.js'

const ofDays = figuresOfMonths(figures)
const moments = momentsOf(figures)

const isReckonable = (name: string): name is Reckoned => reckonedColumns.some((column) => column === name)

const momentColumn = ({ name, doc, unit }: (typeof moments)[number]): [string, ViewColumn] => {
  const text = isReckonable(name)
    ? `${doc} At the end of the month, from the records as they are known today; of the running month, from its last snapshot if there is one (see \`receivables_is_reckoned\`).`
    : `${doc} From the last snapshot of the month; null before the first snapshot.`
  return [name, unit === 'cents' ? col.cents(text) : col.count(text)]
}

const figureColumns: Readonly<Record<string, ViewColumn>> = Object.fromEntries([
  ...periodColumns(ofDays, null).map(({ name, column }) => [name, column] as const),
  ...moments.map(momentColumn),
])

/** The lists that the figures depend on. */
const lists = [...new Set(figures.flatMap((figure) => figure.lists))].sort()

/**
 * For each tenant, the instant up to which all these lists are complete. A list that the API doesn't offer, or that is
 * switched off in the configuration, doesn't count. One that was never walked has no row yet, and then nothing is
 * complete: wrongly calling a month complete is worse than leaving it out.
 */
function complete(q: ViewWords): string {
  const needed = q.enabled(lists)
  const isOffered = "coalesce(c.status, '') <> 'unavailable'"
  return `complete as (
  select c.tenant_id, case when count(*) = ${needed.length}
      and count(case when ${isOffered} and c.complete_through is null then 1 end) = 0
    then min(case when ${isOffered} then c.complete_through end) end as through
  from {sync_cursors} c where c.resource in (${needed.map((name) => `'${name}'`).join(', ')})
  group by c.tenant_id)`
}

/** The zone of rows without a shop. */
const usual = (q: ViewWords): string => q.zone('0', '0')

/** Each shop with its zone and the day of its first invoice; the current day of each zone; the calendar's months. */
const shops = (q: ViewWords): string => `places as (
  select i.tenant_id, i.shop_id, ${q.zone('i.tenant_id', 'i.shop_id')} as zone, ${firstInvoiceDay('i.tenant_id', 'i.shop_id')} as first_day
  from (
    select tenant_id, id as shop_id from {shops}
    union select tenant_id, shop_id from (select distinct tenant_id, shop_id from {repair_order_totals}) t where shop_id is not null
    union select tenant_id, shop_id from {daily_snapshots}) i),
today as (
  select z.zone, ${q.day('z.zone', q.now)} as day from (select zone from places union select ${usual(q)} as zone) z),
months as (
  select d.day, ${q.month('d.day')} as month, lead(d.day) over (order by d.day) as next_day from {report_calendar} d
  where d.day = d.month)`

/** The last snapshot of each month. */
const snapshots = (q: ViewWords): PlainLeg => ({
  select: {
    tenant_id: 's.tenant_id',
    shop_id: 's.shop_id',
    period: q.month('s.day'),
    ...Object.fromEntries(moments.map(({ name, snapshot }) => [name, `s.${snapshot}`])),
  },
  from: `{daily_snapshots} s join {report_calendar} d on d.day = s.day
    where not exists (
      select 1 from {daily_snapshots} later join {report_calendar} e on e.day = later.day
      where later.tenant_id = s.tenant_id and later.shop_id = s.shop_id and later.day > s.day and e.month = d.month)`,
})

/** The legs that are stacked with those of the figures. */
const more = (q: ViewWords): PlainLeg[] => [snapshots(q), ...reckonedLegs(q)]

/**
 * The stacked legs by month, and what their balances come to. Not as subqueries: SQLite's parser has only so much depth.
 */
const summed = (q: ViewWords): string => `summed as (
  ${stacked(q, ofDays, q.month, more(q))}),
running as (
  select s.*, ${reckonedColumns.map((name) => `sum(s.${changeColumn(name)}) over so_far as ${soFar(name)}`).join(', ')},
    sum(s.has_value) over so_far as has_value_so_far, lead(s.period) over so_far as next_period
  from summed s where s.place = 1
  window so_far as (partition by s.tenant_id, s.shop_id, case when s.period is null then 1 end order by s.period))`

/**
 * With the months of each shop in between that have none, up to the current one: figures of those are null, and balances
 * go on.
 */
const dense = (q: ViewWords): string => `
      select g.*, coalesce(m.month, g.period) as shown_period, m.month = g.period or g.period is null as is_own,
        m.month, m.day as month_start, m.next_day, p.zone, p.first_day, ${q.month('t.day')} as current_month
      from running g
      left join places p on p.tenant_id = g.tenant_id and p.shop_id = g.shop_id
      left join today t on t.zone = coalesce(p.zone, ${usual(q)})
      left join months m on m.month >= g.period and (g.next_period is null or m.month < g.next_period)
        and m.month <= ${q.month('t.day')}`

/** A shop has rows from its first value on; there is nothing to say of no shop in a month without one. */
const isShown = `case when x.shop_id is not null then x.has_value_so_far > 0
        else (x.is_own and x.has_value > 0) or ${reckonedColumns.map((name) => `x.${soFar(name)} <> 0`).join(' or ')} end
        and (x.shown_period is null or x.month is not null)`

/** Without the list of payments, nothing would seem to be paid: then only snapshots tell. */
const isReckoned = (q: ViewWords, snapshot: string): string =>
  q.enabled(['payments', 'repair_orders']).length === 2
    ? `(coalesce(x.shown_period < x.current_month, false) or ${snapshot} is null)`
    : 'false'

const isOwn = 'x.is_own'

const moment = (q: ViewWords, name: string): string => {
  const snapshot = `case when ${isOwn} then x.${name} end`
  return isReckonable(name)
    ? `case when ${isReckoned(q, snapshot)} then coalesce(x.${soFar(name)}, 0) else x.${name} end`
    : snapshot
}

export default defineView({
  name: 'shop_months',
  doc: "Every figure, by shop and month. A figure that adds up has its own column. A ratio has a numerator and a denominator: divide the sum of one by the sum of the other. `cars` and `customers` are distinct counts, so they don't add up over months or shops; nor does the denominator of `hours_per_car`. Balances come from the last snapshot of the month, except receivables and deposits held (`receivables_is_reckoned`). For days, see `shop_days`. A figure is null if none of its values is known, and `_left_out` counts what is missing from it.",
  grain:
    'one shop and month, from the first month in which a figure has a value to the current month; separate rows hold what has no shop or no day',
  columns: {
    month: col.text("The month, as YYYY-MM, in the shop's time zone."),
    ...common,
    first_day: col.day(
      "The day it closed its first invoice, in the shop's time zone; null before that. When you compare two months, include only shops whose first day is before the earlier month or in its first three days.",
    ),
    is_whole: col.boolean.always(
      "Whether the month is complete: it is over, `first_day` is before it or in its first three days, and every list behind the figures is complete through its end. Lists that are switched off (resources.NAME.enabled) or that the API doesn't offer are ignored. If false, the figures may still change or cover only part of the month.",
    ),
    ...figureColumns,
    month_start: col.day('The first day of the month, for tools that need a date.'),
    receivables_is_reckoned: col.boolean.always(
      "Whether `receivables_cents` follows from closings and payments: in every month that is over, and in the running month before its first snapshot. False if the list of payments is switched off. It is what is known today: payments that were deleted since and orders that were opened again or deleted don't count. `deposits_held_cents` works alike.",
    ),
    receivables_left_out: col.count.always(
      'Orders on which something else may have been owed at the end of the month: a payment that counted was deleted since, the order was an invoice and was opened again, or its total is unknown. `receivables_cents` has the first by the payments that are left, and nothing of the others.',
    ),
    is_open: col.boolean.always(
      'Whether the shop had closed its first invoice by the end of the month. Deposits and purchases come before that. For an average over shops or months, take only these rows.',
    ),
  },
  example: `select month, sum(sales_cents) as sales_cents,
  100.0 * sum(gross_margin_numerator) / nullif(sum(gross_margin_denominator), 0) as gross_margin
from shop_months
where is_whole
group by month
order by month desc
limit 12`,
  build: (q) => ({
    with: [shops(q), complete(q), summed(q)].join(',\n'),
    select: {
      month: 'x.shown_period',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      first_day: 'x.first_day',
      is_whole: `coalesce(${q.dayText('x.first_day')} <= x.shown_period || '-03' and x.shown_period < x.current_month
        and ${q.day('x.zone', 'c.through')} >= x.next_day, false)`,
      ...Object.fromEntries(periodColumns(ofDays, q, isOwn).map(({ name, sql }) => [name, sql])),
      ...Object.fromEntries(moments.map(({ name }) => [name, moment(q, name)])),
      month_start: 'x.month_start',
      receivables_is_reckoned: isReckoned(q, `case when ${isOwn} then x.receivables_cents end`),
      receivables_left_out: `coalesce(x.${soFar('receivables_left_out')}, 0)`,
      is_open: `coalesce(x.shown_period >= ${q.month('x.first_day')}, false)`,
    },
    from: `(${dense(q)}) x
      left join complete c on c.tenant_id = x.tenant_id
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id
      where ${isShown}`,
  }),
})
