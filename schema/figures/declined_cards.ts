import { defineFigure } from '../figure.js'
import card_attempts from '../views/card_attempts.js'

export default defineFigure({
  name: 'declined_cards',
  label: 'Declined cards',
  doc: 'Attempts to charge or refund a card that were not approved. Each attempt counts. The view marks those that a card paid later: `failed_then_approved`.',
  unit: 'count',
  relation: card_attempts,
  day: 'day',
  numerator: { count: 'failed' },
  by: ['reader', 'response_code'],
  lists: ['payment_transactions', 'repair_orders'],
})
