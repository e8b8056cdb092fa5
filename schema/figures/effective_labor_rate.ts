import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'effective_labor_rate',
  label: 'Effective labor rate',
  doc: 'Labor after its discount by hour sold, over the hours of services that have a labor rate.',
  unit: 'cents per hour',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'labor_cents - labor_discount_cents' },
  denominator: { sum: 'rated_labor_hours' },
  leavesOut: {
    what: 'invoices with hours that have no labor rate',
    count: 'rated_labor_hours <> labor_hours',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: 'select avg(labor_rate_cents) from repair_order_services',
      why: 'A rate that was asked for ten hours weighs as much as one for ten minutes, and discounts are not taken off.',
    },
  ],
})
