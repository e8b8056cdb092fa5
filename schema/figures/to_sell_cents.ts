import { defineFigure } from '../figure.js'
import recommendations from '../views/recommendation_conversion.js'

export default defineFigure({
  name: 'to_sell_cents',
  label: 'Still to sell',
  doc: 'Recommended work that was neither approved, sold nor closed by staff, on orders that exist, by the day it was recommended.',
  unit: 'cents',
  relation: recommendations,
  where: 'is_to_sell',
  day: 'recommended_on',
  numerator: { sum: 'value_cents' },
  leavesOut: { what: 'recommendations with a line that has no price', count: 'value_cents is null' },
  by: ['decision', 'kind', 'category_id', 'category'],
  lists: ['recommendations', 'past_recommendations', 'repair_orders'],
  instead: [
    {
      sql: "select sum(value_cents) from recommendation_conversion where decision = 'declined'",
      why: 'Declined work that was sold later, or that staff closed, is not for sale any more.',
    },
  ],
})
