import { defineFigure } from '../figure.js'
import work_in_progress from '../views/work_in_progress.js'

export default defineFigure({
  name: 'work_in_progress_cents',
  label: 'Work in progress',
  doc: 'What orders in progress total so far, before supply fee and taxes. Excludes estimates.',
  unit: 'cents',
  relation: work_in_progress,
  where: 'not is_estimate',
  numerator: { sum: 'sales_cents' },
  snapshot: 'work_in_progress_sales_cents',
  by: ['technician_key', 'technician_name', 'advisor_key', 'advisor_name'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: 'select sum(sales_cents) from work_in_progress',
      why: 'The view includes estimates: see `is_estimate`.',
    },
  ],
})
