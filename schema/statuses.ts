import { defineResource, id, stamps } from './resource.js'

export default defineResource({
  name: 'statuses',
  singular: 'status',
  entity: 'Status',
  announced: true,
  doc: "Statuses that repair orders can have. The API documentation doesn't show their fields.",
  source: 'Resources: Other resources',
  grain: 'one status of a tenant',
  documented: false,
  fields: {
    id: id('Id of the status.'),
    ...stamps,
  },
})
