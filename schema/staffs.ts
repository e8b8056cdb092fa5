import { boolean, defineResource, id, personal, stamps, text } from './resource.js'

export default defineResource({
  name: 'staffs',
  singular: 'staff',
  entity: 'Staff',
  announced: true,
  doc: 'Staff: technicians, service advisors and others.',
  source: 'Resources: Staff',
  grain: 'one member of staff of a tenant',
  documented: false,
  undeclared: { who: 'staff', preset: 'drop' },
  fields: {
    id: id('Id of the member of staff.'),
    first_name: personal('staff', 'hash', text('First name.')),
    last_name: personal('staff', 'hash', text('Last name.')),
    advisor: boolean("Whether this is a service advisor. The API documentation doesn't describe it."),
    technician: boolean("Whether this is a technician. The API documentation doesn't describe it."),
    active: boolean("Whether the member of staff is active. The API documentation doesn't describe it."),
    ...stamps,
    email: personal('staff', 'hash', text('Email address.'), 'email'),
  },
})
