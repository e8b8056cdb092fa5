import { defineFigure } from '../figure.js'
import inventory_value from '../views/inventory_value.js'

export default defineFigure({
  name: 'inventory_value_cents',
  label: 'Inventory value',
  doc: 'What the stock cost: units on hand times cost, for items where both are known.',
  unit: 'cents',
  relation: inventory_value,
  numerator: { sum: 'on_hand_cents' },
  snapshot: 'stock_cents',
  leavesOut: { what: 'items whose quantity or cost is unknown', count: 'on_hand_cents is null' },
  by: ['brand', 'vendor_key', 'vendor_name'],
  lists: ['inventories'],
})
