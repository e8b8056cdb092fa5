import { defineFigure } from '../figure.js'
import parts_margin from '../views/parts_margin.js'

export default defineFigure({
  name: 'parts_cost_cents',
  label: 'Cost of parts sold',
  doc: 'What the parts on invoices cost. Compare purchases with this.',
  unit: 'cents',
  relation: parts_margin,
  day: 'day',
  numerator: { sum: 'cost_cents' },
  leavesOut: { what: 'parts without a known cost', count: 'cost_cents is null' },
  by: ['brand', 'cost_band'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(amount_cents) from purchases where day >= '2026-01-01'",
      why: 'Not everything bought was sold: the rest is in stock.',
    },
  ],
})
