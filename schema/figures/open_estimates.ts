import { defineFigure } from '../figure.js'
import work_in_progress from '../views/work_in_progress.js'

export default defineFigure({
  name: 'open_estimates',
  label: 'Number of open estimates',
  doc: 'Estimates that have not been started or deleted.',
  unit: 'count',
  relation: work_in_progress,
  where: 'is_estimate',
  numerator: { count: 'is_estimate' },
  snapshot: 'open_estimates',
  by: ['technician_key', 'technician_name', 'advisor_key', 'advisor_name'],
  lists: ['repair_orders'],
})
