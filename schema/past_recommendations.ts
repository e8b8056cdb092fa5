import { boolean, defineResource, id, nullable, oneOf, ref, stamps, text, timestamp } from './resource.js'

export default defineResource({
  name: 'past_recommendations',
  singular: 'past_recommendation',
  entity: 'PastRecommendation',
  announced: true,
  doc: 'Recommendations that were unsold when their repair order was closed.',
  source: 'Resources: PastRecommendation',
  grain: 'one unsold recommendation for a vehicle',
  undeclared: { who: 'text', preset: 'drop' },
  fields: {
    id: id('Id of the past recommendation.'),
    ...stamps,
    description: text('Title of the previously recommended service.'),
    approved: nullable(boolean('true if since approved by the customer, false if declined, null otherwise.')),
    approver_id: nullable(id('Staff or Customer id of the approver.')),
    approval_at: nullable(timestamp('When it was approved or declined.')),
    approval_type: nullable(
      oneOf(['customer', 'email', 'estimate', 'person', 'phone'], 'Null if unapproved or declined.'),
    ),
    imported: boolean(
      'true if added as a service on an RO. Every imported=true record is also done=true, ' +
        'but not every done=true record is imported=true.',
    ),
    vehicle_id: ref('vehicles', 'Vehicle the service was recommended for.', { indexed: true }),
    done: boolean(
      'true if sold to the customer or manually marked done by staff. ' +
        'Such records are no longer presented to the vehicle owner on future visits.',
    ),
    recommendation_id: ref(
      'recommendations',
      'Recommendation that was unsold when the source RO was closed, resulting in this record.',
      { indexed: true },
    ),
  },
})
