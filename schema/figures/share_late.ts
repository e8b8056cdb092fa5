import { defineFigure } from '../figure.js'
import cycle_times from '../views/cycle_times.js'

export default defineFigure({
  name: 'share_late',
  label: 'Late',
  doc: 'The share of invoices that were closed after the vehicle was due, of those that say when it was.',
  unit: 'percent',
  relation: cycle_times,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { count: 'is_late' },
  denominator: { count: 'is_late is not null' },
  leavesOut: { what: 'invoices that do not say when the vehicle was due', count: 'is_late is null' },
  by: [],
  lists: ['repair_orders'],
})
