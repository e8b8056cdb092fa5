import { defineResource, id, ref, stamps } from './resource.js'

export default defineResource({
  name: 'vendors',
  singular: 'vendor',
  entity: 'Vendor',
  doc: 'Vendors of parts and sublet work. The API documentation shows only their shop_id.',
  source: 'What the service does; Resources: Other resources',
  grain: 'one vendor of a tenant',
  documented: false,
  fields: {
    id: id('Id of the vendor.'),
    ...stamps,
    shop_id: ref('shops', 'Shop that the vendor belongs to.'),
  },
})
