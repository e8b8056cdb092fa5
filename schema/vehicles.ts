import { defineResource, id, stamps } from './resource.js'

export default defineResource({
  name: 'vehicles',
  singular: 'vehicle',
  entity: 'Vehicle',
  announced: true,
  doc: "Vehicles, shared between the shops of a tenant. The API documentation doesn't show their fields.",
  source: 'Resources: Other resources',
  grain: 'one vehicle of a tenant',
  documented: false,
  shared: true,
  undeclared: { who: 'customer', preset: 'drop' },
  // Many cars have the same. What tells one from all others, such as a VIN or a plate, isn't among them.
  impersonal: ['year', 'make', 'model', 'trim', 'engine'],
  fields: {
    id: id('Id of the vehicle.'),
    ...stamps,
  },
})
