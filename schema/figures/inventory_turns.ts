import { defineFigure } from '../figure.js'
import inventory_value from '../views/inventory_value.js'

export default defineFigure({
  name: 'inventory_turns',
  label: 'Inventory turns',
  doc: 'How often the stock was sold in a year: the cost of what was sold in 365 days over the value of the stock now. A shop with less than a year of invoices turns its stock more often than this says.',
  unit: 'turns',
  relation: inventory_value,
  numerator: { sum: 'case when on_hand_cents is not null then sold_cost_cents end' },
  denominator: { sum: 'on_hand_cents' },
  leavesOut: { what: 'items whose quantity or cost is unknown', count: 'on_hand_cents is null' },
  by: ['brand', 'vendor_key', 'vendor_name'],
  lists: ['inventories', 'repair_orders'],
  instead: [
    {
      sql: 'select avg(turns) from inventory_value',
      why: 'An average of ratios: an item with one unit on hand weighs as much as the whole rest.',
    },
  ],
})
