import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'estimate_close_rate',
  label: 'Estimate close rate',
  doc: 'The share of orders that were started or invoiced, by the day they were created. Deleted estimates are not counted at all, so a shop that deletes lost estimates shows a better rate.',
  unit: 'percent',
  relation: orders,
  day: 'created_on',
  numerator: { count: "started_on is not null or state <> 'estimate'" },
  denominator: { count: 'repair_order_id is not null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})
