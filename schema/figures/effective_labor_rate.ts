import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'effective_labor_rate',
  label: 'Effective labor rate',
  doc: 'Labor after discount per hour sold, counting only the hours of services that have a labor rate.',
  unit: 'cents per hour',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'labor_cents - labor_discount_cents' },
  denominator: { sum: 'rated_labor_hours' },
  leavesOut: {
    what: 'invoices with hours without a labor rate',
    count: 'rated_labor_hours <> labor_hours',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: 'select avg(labor_rate_cents) from repair_order_services',
      why: 'A rate charged for ten hours weighs as much as one charged for ten minutes, and discounts are not subtracted.',
    },
  ],
})
