import { defineFigure } from '../figure.js'
import work_in_progress from '../views/work_in_progress.js'

export default defineFigure({
  name: 'open_estimates_cents',
  label: 'Open estimates',
  doc: 'What open estimates total, before supply fee and taxes.',
  unit: 'cents',
  relation: work_in_progress,
  where: 'is_estimate',
  numerator: { sum: 'sales_cents' },
  snapshot: 'open_estimates_sales_cents',
  by: ['technician_key', 'technician_name', 'advisor_key', 'advisor_name'],
  lists: ['repair_orders'],
})
