import { defineResource, field, id, oneOf, personal, stamps, text } from './resource.js'

const taggable =
  'Appointment Assignment CannedJob Category Customer GpException Inventory Payment PaymentTransaction ' +
  'PurchaseRecord Recommendation RepairOrder Shop Staff Status Vehicle Vendor'

export default defineResource({
  name: 'integrator_tags',
  singular: 'integrator_tag',
  entity: 'IntegratorTag',
  doc: 'Tags attached by the integrator to associate an entity with external data.',
  source: 'Resources: IntegratorTag',
  grain: 'one tag on one entity of a tenant',
  embeddedAs: 'integrator_tags',
  fields: {
    id: id('Id of the tag.'),
    ...stamps,
    taggable_type: oneOf(taggable.split(' '), 'Type of the tagged entity.'),
    taggable_id: field('id', 'Id of the tagged entity.', {
      indexed: true,
      typedBy: 'taggable_type',
    }),
    name: text('Tag name.'),
    value: personal('text', 'hash', text('Tag value.')),
  },
})
