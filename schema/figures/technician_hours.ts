import { defineFigure } from '../figure.js'
import technician_hours from '../views/technician_hours.js'

export default defineFigure({
  name: 'technician_hours',
  label: 'Hours by technician',
  doc: 'Hours sold, by the technician of each labor line, who may differ from the technician of the order.',
  unit: 'hours',
  relation: technician_hours,
  day: 'day',
  numerator: { sum: 'sold_hours' },
  leavesOut: { what: 'labor lines whose hours are unknown', sum: 'hours_unknown' },
  by: ['technician_key', 'technician_name'],
  lists: ['repair_orders'],
  splits: 'hours_sold',
  instead: [
    {
      sql: "select technician_key, sum(labor_hours) from orders where state = 'invoice' group by technician_key",
      why: 'The technician of an order may not have done all its labor.',
    },
  ],
})
