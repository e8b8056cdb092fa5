import { defineFigure } from '../figure.js'
import order_lines from '../views/order_lines.js'

export default defineFigure({
  name: 'line_gross_margin',
  label: 'Gross margin by kind',
  doc: 'Gross profit as a share of sales, for labor, parts, sublets and hazmats whose price and cost are known.',
  unit: 'percent',
  relation: order_lines,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'gross_profit_cents' },
  denominator: { sum: 'net_where_profit_known_cents' },
  leavesOut: { what: 'lines without a known cost or price', count: 'gross_profit_cents is null' },
  by: ['kind', 'brand', 'technician_key', 'technician_name', 'vendor_key', 'vendor_name'],
  lists: ['repair_orders'],
  splits: 'gross_margin',
  instead: [
    {
      sql: "select kind, sum(net_cents - coalesce(cost_cents, 0)) * 100.0 / sum(net_cents) from order_lines where state = 'invoice' group by kind",
      why: 'A part whose cost is unknown counts as all profit there.',
    },
  ],
})
