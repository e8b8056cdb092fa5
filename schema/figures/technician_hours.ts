import { defineFigure } from '../figure.js'
import technician_hours from '../views/technician_hours.js'

export default defineFigure({
  name: 'technician_hours',
  label: 'Hours by technician',
  doc: 'Hours sold by the technician of each labor, who may be another than that of the order.',
  unit: 'hours',
  relation: technician_hours,
  day: 'day',
  numerator: { sum: 'sold_hours' },
  leavesOut: { what: 'labors whose hours are unknown', sum: 'hours_unknown' },
  by: ['technician_key', 'technician_name'],
  lists: ['repair_orders'],
  splits: 'hours_sold',
  instead: [
    {
      sql: "select technician_key, sum(labor_hours) from orders where state = 'invoice' group by technician_key",
      why: 'The technician of an order may not have done all of its labor.',
    },
  ],
})
