import { defineFigure } from '../figure.js'
import cycle_times from '../views/cycle_times.js'

export default defineFigure({
  name: 'days_to_close',
  label: 'Days to close',
  doc: 'Average number of days from creating an order to closing it, for invoices.',
  unit: 'days',
  relation: cycle_times,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'minutes_to_start + minutes_in_work' },
  denominator: { count: 'minutes_to_start + minutes_in_work is not null' },
  leavesOut: {
    what: 'invoices that lack one of the times',
    count: 'minutes_to_start + minutes_in_work is null',
  },
  by: [],
  lists: ['repair_orders'],
})
