import { defineFigure } from '../figure.js'
import work_in_progress from '../views/work_in_progress.js'

export default defineFigure({
  name: 'orders_in_progress',
  label: 'Orders in progress',
  doc: 'Orders that have been started and not yet closed.',
  unit: 'count',
  relation: work_in_progress,
  where: 'not is_estimate',
  numerator: { count: 'not is_estimate' },
  snapshot: 'work_in_progress',
  by: ['technician_key', 'technician_name', 'advisor_key', 'advisor_name'],
  lists: ['repair_orders'],
})
