import { defineFigure } from '../figure.js'
import appointment_load from '../views/appointment_load.js'

export default defineFigure({
  name: 'appointments_kept',
  label: 'Appointments kept',
  doc: 'The share of appointments that led to a started order, among past appointments with an order.',
  unit: 'percent',
  relation: appointment_load,
  day: 'day',
  numerator: { count: "outcome = 'came'" },
  denominator: { count: "outcome in ('came', 'order gone', 'work not begun')" },
  leavesOut: {
    what: 'appointments without an order, or in the future (`shop_months` ends with the current month, so it lacks those of later ones)',
    count: "outcome in ('no order', 'to come')",
  },
  by: ['staff_key', 'staff_name'],
  lists: ['appointments', 'repair_orders'],
})
