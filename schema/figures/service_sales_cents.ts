import { defineFigure } from '../figure.js'
import service_totals from '../views/service_totals.js'

export default defineFigure({
  name: 'service_sales_cents',
  label: 'Sales by service',
  doc: 'Sales by the title and category of each service.',
  unit: 'cents',
  relation: service_totals,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'sales_cents' },
  by: ['category', 'title'],
  lists: ['repair_orders'],
  splits: 'sales_cents',
})
