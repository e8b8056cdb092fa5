import { defineResource, id, stamps } from './resource.js'

export default defineResource({
  name: 'vendors',
  singular: 'vendor',
  entity: 'Vendor',
  doc: 'Vendors of parts and of sublet work. Their fields are not shown in the document.',
  source: 'Resources: Other resources',
  grain: 'one vendor of a tenant',
  documented: false,
  fields: {
    id: id('Id of the vendor.'),
    ...stamps,
  },
})
