import { defineResource, id, nullable, personal, ref, stamps, text, timestamp } from './resource.js'

export default defineResource({
  name: 'assignments',
  singular: 'assignment',
  entity: 'Assignment',
  announced: true,
  doc: 'Transfers of repair orders between staff.',
  source: 'Resources: Assignment',
  grain: 'one transfer of a repair order between staff',
  undeclared: { who: 'text', preset: 'drop' },
  fields: {
    id: id('Id of the assignment.'),
    ...stamps,
    repair_order_id: ref('repair_orders', 'RepairOrder being transferred.', { indexed: true }),
    transfer_to_id: ref('staffs', 'Staff.id involved in the transfer: to whom.'),
    transfer_from_id: ref('staffs', 'Staff.id involved in the transfer: from whom.'),
    message: personal('text', 'drop', text('Transfer message.')),
    accepted_at: nullable(timestamp('When it was accepted. Null if not accepted.')),
    cancelled_at: nullable(timestamp('When it was cancelled. Null if not cancelled.')),
  },
})
