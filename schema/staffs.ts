import { boolean, defineResource, id, stamps, text } from './resource.js'

export default defineResource({
  name: 'staffs',
  singular: 'staff',
  entity: 'Staff',
  announced: true,
  doc: 'Staff: technicians, service advisors and others.',
  source: 'Resources: Staff',
  grain: 'one member of staff of a tenant',
  documented: false,
  fields: {
    id: id('Id of the member of staff.'),
    first_name: text('First name.'),
    last_name: text('Last name.'),
    advisor: boolean('Whether a service advisor. Description: not shown.'),
    technician: boolean('Whether a technician. Description: not shown.'),
    active: boolean('Whether active. Description: not shown.'),
    ...stamps,
    email: text('Email address.'),
  },
})
