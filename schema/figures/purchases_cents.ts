import { defineFigure } from '../figure.js'
import purchases from '../views/purchases.js'

export default defineFigure({
  name: 'purchases_cents',
  label: 'Purchases',
  doc: 'Purchases from vendors, minus returns.',
  unit: 'cents',
  relation: purchases,
  day: 'day',
  numerator: { sum: 'amount_cents' },
  leavesOut: { what: 'lines without a known quantity or cost', count: 'amount_cents is null' },
  by: ['vendor_key', 'vendor_name'],
  lists: ['purchase_records'],
})
