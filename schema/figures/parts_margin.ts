import { defineFigure } from '../figure.js'
import parts_margin from '../views/parts_margin.js'

export default defineFigure({
  name: 'parts_margin',
  label: 'Parts margin',
  doc: 'Price minus cost of parts, as a share of price, before discounts. Counts lines whose price and cost are known.',
  unit: 'percent',
  relation: parts_margin,
  day: 'day',
  numerator: { sum: 'margin_cents' },
  denominator: { sum: 'case when margin_cents is not null then sold_cents end' },
  leavesOut: { what: 'parts without a known price or cost', count: 'margin_cents is null' },
  by: ['brand', 'cost_band'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: 'select sum(margin_cents) * 100.0 / sum(sold_cents) from parts_margin',
      why: 'A line without a cost is in the denominator but not in the numerator.',
    },
  ],
})
