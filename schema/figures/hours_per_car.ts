import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'hours_per_car',
  label: 'Hours per car',
  doc: 'Average hours sold per car: a car with two invoices counts once.',
  unit: 'hours',
  relation: orders,
  where: "state = 'invoice' and vehicle_key is not null",
  day: 'closed_on',
  numerator: { sum: 'labor_hours' },
  denominator: { distinct: 'vehicle_key' },
  leavesOut: {
    what: 'invoices with a line whose hours or price are unknown; unknown hours count as 0',
    count: 'lines_without_price > 0',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})
