import {
  boolean,
  cents,
  datedStamps,
  defineResource,
  id,
  nullable,
  one,
  oneOf,
  ref,
  text,
  timestamp,
} from './resource.js'
import { service } from './service.js'

export default defineResource({
  name: 'recommendations',
  singular: 'recommendation',
  entity: 'Recommendation',
  doc: 'Services recommended to the customer on a repair order.',
  source: 'Resources: Recommendation',
  grain: 'one recommendation on a repair order',
  undeclared: { who: 'text', preset: 'drop' },
  fields: {
    id: id('Id of the recommendation.'),
    ...datedStamps,
    description: nullable(text('Title of the recommended service.')),
    approved: nullable(boolean('true approved, false declined, null otherwise.')),
    approver_id: nullable(id('Staff or Customer id of the approver.')),
    approval_at: nullable(timestamp('When it was approved or declined.')),
    approval_type: nullable(
      oneOf(['customer', 'email', 'person', 'phone'], 'Null if unapproved or declined.'),
    ),
    imported: boolean('true if added as a service on an RO.'),
    quick_price_cents: nullable(cents("A 'quick rec' has no service and carries this price.")),
    service: one(
      { table: 'services', key: 'id', ownerColumn: 'service_id', fields: service },
      'The recommended services; a quick rec has none.',
    ),
    repair_order_id: ref('repair_orders', 'RO the service was recommended on.', { indexed: true }),
  },
})
