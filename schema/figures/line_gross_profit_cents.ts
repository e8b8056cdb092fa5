import { defineFigure } from '../figure.js'
import order_lines from '../views/order_lines.js'

export default defineFigure({
  name: 'line_gross_profit_cents',
  label: 'Gross profit by kind',
  doc: "Gross profit of labor, parts, sublets and hazmats, after discounts and before technicians' pay. Lines whose price or cost is unknown are left out.",
  unit: 'cents',
  relation: order_lines,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'gross_profit_cents' },
  leavesOut: { what: 'lines without a known cost or price', count: 'gross_profit_cents is null' },
  by: ['kind', 'brand', 'technician_key', 'technician_name', 'vendor_key', 'vendor_name'],
  lists: ['repair_orders'],
  splits: 'gross_profit_cents',
})
