import { figures } from '../figures/index.js'
import { isInvoice } from '../open.js'
import { figuresOfMonths, momentsOf, type PlainLeg, periodColumns, stacked } from '../periods.js'
import { isReckoned, orReckoned, reckonedLegs } from '../reckoned.js'
import { col, common, defineView, type ViewColumn, type ViewWords } from '../view.js'

const ofDays = figuresOfMonths(figures)
const moments = momentsOf(figures)
/** The figure that also follows from the records. */
const owed = 'receivables_cents'

const momentColumn = ({ name, doc, unit }: (typeof moments)[number]): [string, ViewColumn] => {
  const text =
    name === owed
      ? `${doc} From the last snapshot of the month; reckoned from closings and payments for months without one (\`receivables_is_reckoned\`).`
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

/** The first day of a day's month. */
const monthOf = (day: string): string =>
  `(select b.month from {report_days} b where b.zone = 'UTC' and b.day = ${day})`

/** Each shop with its zone and the day of its first invoice; its current month; the calendar's months since then. */
const shops = (q: ViewWords): string => `places as (
  select i.tenant_id, i.shop_id, ${q.zone('i.tenant_id', 'i.shop_id')} as zone,
    (select y.closed_on from {repair_order_totals} y
      where y.tenant_id = i.tenant_id and y.shop_id = i.shop_id and y.closed_on is not null and ${isInvoice('y')}
      order by y.closed_on limit 1) as first_day
  from (
    select tenant_id, id as shop_id from {shops}
    union select tenant_id, shop_id from (select distinct tenant_id, shop_id from {repair_order_totals}) t where shop_id is not null
    union select tenant_id, shop_id from {daily_snapshots}) i),
today as (
  select z.zone, ${q.day('z.zone', q.now)} as day from (select distinct zone from places) z),
months as (
  select d.day, ${q.month('d.day')} as month, lead(d.day) over (order by d.day) as next_day from {report_days} d
  where d.zone = 'UTC' and d.day = d.month and d.day >= ${monthOf(`coalesce(
    (select p.first_day from places p where p.first_day is not null order by p.first_day limit 1),
    (select t.day from today t order by t.day limit 1))`)})`

/** Every month of each shop from its first invoice on; for a shop without invoices, its current month. */
const frame = (q: ViewWords): PlainLeg => ({
  select: { tenant_id: 'p.tenant_id', shop_id: 'p.shop_id', period: 'd.month' },
  from: `places p join today t on t.zone = p.zone join months d
    on d.month >= ${q.month('coalesce(p.first_day, t.day)')} and d.month <= ${q.month('t.day')}`,
})

/** The last snapshot of each month. */
const snapshots = (q: ViewWords): PlainLeg => ({
  select: {
    tenant_id: 's.tenant_id',
    shop_id: 's.shop_id',
    period: q.month('s.day'),
    ...Object.fromEntries(moments.map(({ name, snapshot }) => [name, `s.${snapshot}`])),
  },
  from: `{daily_snapshots} s join {report_days} d on d.zone = 'UTC' and d.day = s.day
    where not exists (
      select 1 from {daily_snapshots} later join {report_days} e on e.zone = 'UTC' and e.day = later.day
      where later.tenant_id = s.tenant_id and later.shop_id = s.shop_id and later.day > s.day and e.month = d.month)`,
})

/** The instant when the next month begins for the shop. */
const endOfMonth = '(select n.from_at from {report_days} n where n.zone = p.zone and n.day = m.next_day)'

export default defineView({
  name: 'shop_months',
  doc: "Every figure, by shop and month. A figure that adds up has its own column. A ratio has a numerator and a denominator: divide the sum of one by the sum of the other. `cars` and `customers` are distinct counts, so they don't add up over months or shops; nor does the denominator of `hours_per_car`. Balances such as receivables come from the last snapshot of the month. For days, see `shop_days`. A figure is null if none of its values is known, and `_left_out` counts what is missing from it.",
  grain:
    'one shop and month, from the month of its first invoice to the current month; a shop without invoices has only the current month; separate rows hold what has no shop or no day',
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
      'Whether `receivables_cents` follows from closings and payments because the month has no snapshot. It is null instead for months that a payment deleted later, or an order opened again, makes unsure. Invoices whose total is unknown are left out.',
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
    with: [shops(q), complete(q)].join(',\n'),
    select: {
      month: 'x.period',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      first_day: 'p.first_day',
      is_whole: `coalesce(${q.dayText('p.first_day')} <= x.period || '-03' and x.period < ${q.month('t.day')}
        and c.through >= ${endOfMonth}, false)`,
      ...Object.fromEntries(periodColumns(ofDays, q).map(({ name, sql }) => [name, sql])),
      ...Object.fromEntries(
        moments.map(({ name }) => [name, name === owed ? orReckoned(`x.${name}`) : `x.${name}`]),
      ),
      month_start: 'm.day',
      receivables_is_reckoned: isReckoned(`x.${owed}`),
    },
    from: `(${stacked(q.plainDays, ofDays, q.month, [frame(q), snapshots(q), ...reckonedLegs(q)])}) x
      left join places p on p.tenant_id = x.tenant_id and p.shop_id = x.shop_id
      left join today t on t.zone = p.zone
      left join complete c on c.tenant_id = x.tenant_id
      left join months m on m.month = x.period
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id
      where x.place = 1 and (x.period is null or t.day is null or x.period <= ${q.month('t.day')})`,
  }),
})
