import { defineFigure } from '../figure.js'
import recommendation_conversion from '../views/recommendation_conversion.js'

export default defineFigure({
  name: 'recommendation_close_rate',
  label: 'Recommendation close rate',
  doc: 'The share of recommendations that were approved or sold (approved at once, added to an order, or sold on a later visit), by the day they were made. What was approved but is on no order yet counts too: see `is_approved_unsold`.',
  unit: 'percent',
  relation: recommendation_conversion,
  day: 'recommended_on',
  numerator: { count: "decision = 'approved' or imported or sold_later" },
  denominator: { count: 'recommendation_id is not null' },
  by: ['kind'],
  lists: ['recommendations', 'past_recommendations', 'repair_orders'],
  instead: [
    {
      sql: "select avg(case when decision = 'approved' then 100.0 else 0 end) from recommendation_conversion",
      why: 'A recommendation sold on a later visit stays undecided or declined on the first one.',
    },
  ],
})
