import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'cars',
  label: 'Cars',
  doc: "Distinct vehicles on invoices. They don't add up: a car that comes in two months counts once in the year.",
  unit: 'count',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { distinct: 'vehicle_key' },
  leavesOut: { what: 'invoices without a vehicle', count: 'vehicle_key is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    { sql: 'select sum(cars) from daily_sales', why: 'A car that comes in on two days counts twice.' },
  ],
})
