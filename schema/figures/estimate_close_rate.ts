import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'estimate_close_rate',
  label: 'Close rate of estimates',
  doc: 'The share of orders whose work was begun or that were invoiced; by the day they were created. Estimates that were deleted are in neither part: a shop that deletes what it loses shows a better rate.',
  unit: 'percent',
  relation: orders,
  day: 'created_on',
  numerator: { count: "started_on is not null or state <> 'estimate'" },
  denominator: { count: 'repair_order_id is not null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})
