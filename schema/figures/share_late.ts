import { defineFigure } from '../figure.js'
import cycle_times from '../views/cycle_times.js'

export default defineFigure({
  name: 'share_late',
  label: 'Late',
  doc: 'The share of invoices closed after the vehicle was due, among invoices with a due time.',
  unit: 'percent',
  relation: cycle_times,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { count: 'is_late' },
  denominator: { count: 'is_late is not null' },
  leavesOut: { what: 'invoices without a due time', count: 'is_late is null' },
  by: [],
  lists: ['repair_orders'],
})
