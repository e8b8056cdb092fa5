import { defineFigure } from '../figure.js'
import cycle_times from '../views/cycle_times.js'

export default defineFigure({
  name: 'days_to_close',
  label: 'Days to close',
  doc: 'Average number of days from creating an order to closing it, for invoices, whether or not the API says when work started.',
  unit: 'days',
  relation: cycle_times,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'minutes_to_close' },
  denominator: { count: 'minutes_to_close is not null' },
  leavesOut: {
    what: 'invoices without the time they were created or closed',
    count: 'minutes_to_close is null',
  },
  by: [],
  lists: ['repair_orders'],
})
