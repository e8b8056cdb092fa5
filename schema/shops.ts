import { defineResource, id, stamps } from './resource.js'

export default defineResource({
  name: 'shops',
  singular: 'shop',
  entity: 'Shop',
  announced: true,
  doc: "Shops: the business locations of a tenant. The API documentation doesn't show their fields.",
  source: 'Resources: Other resources',
  grain: 'one shop of a tenant',
  documented: false,
  fields: {
    id: id('Id of the shop.'),
    ...stamps,
  },
})
