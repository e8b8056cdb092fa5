import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'customers',
  label: 'Customers',
  doc: "Distinct customers with an invoice. They don't add up: a customer who comes in two months counts once in the year.",
  unit: 'count',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { distinct: 'customer_key' },
  leavesOut: { what: 'invoices without a customer', count: 'customer_key is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: 'select sum(customers) from daily_sales',
      why: 'A customer who comes in on two days counts twice.',
    },
    {
      sql: "select count(distinct customer_name) from orders where state = 'invoice'",
      why: 'Two people may have the same name, so a name is not a key.',
    },
  ],
})
