import { absurd } from '../derived/billlines.js'
import { countUnknown, isPrice, joinOrder, laborsOf } from '../lines.js'
import { col, common, defineView } from '../view.js'

const rated = `case when ${isPrice('s.labor_rate_cents')} then l.hours end`

export default defineView({
  name: 'technician_hours',
  doc: 'Hours sold by each technician, by the day the invoice was closed. Lines without a technician are in rows without one.',
  grain: 'one technician, shop and day on which an invoice with their labor was closed',
  columns: {
    day: col.day("The day the invoices were closed, in the shop's time zone."),
    ...common,
    technician_id: col.id(
      'The technician of the labor line, who may differ from the technician of the order; null if none is named.',
    ),
    technician_key: col.key('dim_staffs', 'Key of the technician: TENANT-ID.'),
    technician_name: col.text('Name of the technician.', { personal: true }),
    invoices: col.count.always(
      'Invoices with their labor. An invoice counts for each of its technicians and days, so they do not add up over technicians: `hours_per_car` and `invoices` count each once.',
    ),
    sold_hours: col.hours(
      'Hours of their labor lines: hours sold, not hours worked. The API does not show hours worked.',
    ),
    rated_hours: col.hours(
      'Hours of services that have a labor rate. For an effective rate, divide `labor_cents` by this.',
    ),
    labor_cents: col.cents.always('Sum of their labor lines, before discount.'),
    hours_unknown: col.count.always(
      'Lines whose hours are unknown or out of range. They are in none of the sums.',
    ),
    lines: col.count.always('Their labor lines on these invoices, including those whose hours are unknown.'),
  },
  example:
    'select technician_key, technician_name, sum(sold_hours) as sold_hours, sum(hours_unknown) as hours_unknown, sum(labor_cents) as labor_cents from technician_hours group by technician_key, technician_name order by sold_hours desc, technician_key',
  build: (q) => ({
    select: {
      day: 'x.day',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      technician_id: 'x.technician_id',
      technician_key: q.key('x.tenant_id', 'x.technician_id'),
      technician_name: q.name('staffs', 't', 'x.technician_id'),
      invoices: 'x.invoices',
      sold_hours: q.fromNine('x.sold_nine'),
      rated_hours: q.fromNine('x.rated_nine'),
      labor_cents: 'x.labor_cents',
      hours_unknown: 'x.hours_unknown',
      lines: 'x.lines',
    },
    from: `(
      select o.tenant_id, o.shop_id, o.closed_on as day, l.technician_id,
        count(distinct l.repair_order_id) as invoices,
        ${q.sumNine('l.hours', absurd.hours)} as sold_nine,
        ${q.sumNine(rated, absurd.hours)} as rated_nine,
        ${countUnknown(q, 'l.hours', absurd.hours)} as hours_unknown, count(*) as lines,
        coalesce(sum(l._amount_cents), 0) as labor_cents
      from ${laborsOf('l', 's')} ${joinOrder('l')}
      where o.state = 'invoice'
      group by o.tenant_id, o.shop_id, o.closed_on, l.technician_id) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id
      left join {staffs} t on t.tenant_id = x.tenant_id and t.id = x.technician_id`,
  }),
})
