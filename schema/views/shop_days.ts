import { figures } from '../figures/index.js'
import { firstInvoiceDay } from '../open.js'
import { figuresOfDays, type PlainLeg, periodColumns, stacked } from '../periods.js'
import { col, common, defineView, type ViewColumn, type ViewWords } from '../view.js'

const shown = figuresOfDays(figures)

const figureColumns: Readonly<Record<string, ViewColumn>> = Object.fromEntries(
  periodColumns(shown, null).map(({ name, column }) => [name, column]),
)

const invoices = (q: ViewWords): string =>
  periodColumns(shown, q).find(({ name }) => name === 'invoices')?.sql ?? '0'

/** Days on which work began on an order that was there: on the day when it was created, a figure has a value. */
const started: PlainLeg = {
  select: { tenant_id: 's.tenant_id', shop_id: 's.shop_id', period: 's.started_on', started: 's.orders' },
  from: `(select o.tenant_id, o.shop_id, o.started_on, count(*) as orders from {repair_order_totals} o
    where o.created_on <= o.started_on and o._deleted_at is null group by o.tenant_id, o.shop_id, o.started_on) s`,
  isAside: true,
}

export default defineView({
  name: 'shop_days',
  doc: 'Every figure that adds up, by shop and day. It has more figures than `daily_sales`. You can sum over days and shops. For a ratio, divide the sum of the numerators by the sum of the denominators. A figure is null if none of its values is known, and `_left_out` counts what is missing from it.',
  grain:
    'one shop and day with activity, from the first day on which a figure has a value; separate rows hold what has no shop or no day',
  columns: {
    day: col.day("The day, in the shop's time zone."),
    ...common,
    ...figureColumns,
    is_open_day: col.boolean.always(
      'Whether the shop was open, as far as one can tell: an invoice was closed or work on an order began. Days without invoices have rows too, such as a Sunday with a return to a vendor. To divide by working days, count these.',
    ),
    is_open: col.boolean.always(
      'Whether the shop had closed its first invoice by that day. Deposits and purchases come before that. For an average over shops or days, take only these rows.',
    ),
  },
  example:
    'select shop_key, shop_name, sum(sales_cents) as sales_cents, sum(collected_cents) as collected_cents from shop_days group by shop_key, shop_name order by shop_name, shop_key',
  build: (q) => ({
    select: {
      day: 'x.period',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      ...Object.fromEntries(periodColumns(shown, q).map(({ name, sql }) => [name, sql])),
      is_open_day: `${invoices(q)} > 0 or coalesce(x.started, 0) > 0`,
      is_open: `coalesce(x.period >= ${firstInvoiceDay('x.tenant_id', 'x.shop_id')}, false)`,
    },
    from: `(${stacked(q, shown, (day) => day, [started])}) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id
      where x.place = 1 and (x.has_value > 0 or (x.started > 0 and x.shop_id is not null))`,
  }),
})
