import { defineFigure } from '../figure.js'
import inventory_value from '../views/inventory_value.js'

export default defineFigure({
  name: 'inventory_turns',
  label: 'Inventory turns',
  doc: 'How many times the stock sold in a year: the cost of parts sold in the last 365 days divided by the value of the stock now. For a shop with less than a year of invoices, the true figure is higher; one with less than 60 days of them is left out.',
  unit: 'turns',
  relation: inventory_value,
  numerator: { sum: 'case when on_hand_cents is not null and not shop_is_new then sold_cost_cents end' },
  denominator: { sum: 'case when not shop_is_new then on_hand_cents end' },
  leavesOut: {
    what: 'items whose quantity or cost is unknown, or whose shop has less than 60 days of invoices',
    count: 'on_hand_cents is null or shop_is_new',
  },
  by: ['brand', 'vendor_key', 'vendor_name'],
  lists: ['inventories', 'repair_orders'],
  instead: [
    {
      sql: 'select avg(turns) from inventory_value',
      why: 'This is an average of ratios: an item with one unit on hand weighs as much as any other.',
    },
  ],
})
