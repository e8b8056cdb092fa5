import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'gross_profit_per_hour',
  label: 'Gross profit per hour',
  doc: 'Gross profit per hour of labor sold, for invoices whose costs are all known.',
  unit: 'cents per hour',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'gross_profit_cents' },
  denominator: { sum: 'case when gross_profit_cents is not null then labor_hours end' },
  leavesOut: { what: 'invoices without a known cost or price', count: 'gross_profit_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})
