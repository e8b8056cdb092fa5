import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'discounts_cents',
  label: 'Discounts',
  doc: 'Discounts on labor and parts on invoices.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'labor_discount_cents + parts_discount_cents' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})
