import { defineResource, id, nullable, personal, ref, stamps, text, timestamp } from './resource.js'

export default defineResource({
  name: 'appointments',
  singular: 'appointment',
  entity: 'Appointment',
  doc: 'Appointments in the calendars of the shops.',
  source: 'Resources: Appointment',
  grain: 'one appointment of a tenant',
  undeclared: { who: 'text', preset: 'drop' },
  fields: {
    id: id('Id of the appointment.'),
    ...stamps,
    staff_id: nullable(
      ref('staffs', 'Staff.id of the assigned technician. When absent the appointment is unassigned.'),
    ),
    title: personal('text', 'drop', text('Either title or repair_order_id must be set.')),
    description: personal('text', 'drop', nullable(text('Description.'))),
    start_at: timestamp("Start. Setting it does not update the repair order's due_in_at.", {
      indexed: true,
      dated: true,
    }),
    end_at: timestamp("End. Setting it does not update the repair order's due_out_at."),
    repair_order_id: ref('repair_orders', 'RepairOrder associated with the appointment.', { indexed: true }),
    shop_id: ref('shops', 'Shop the appointment was created in.'),
  },
})
