import { defineResource, id, stamps } from './resource.js'

export default defineResource({
  name: 'vehicles',
  singular: 'vehicle',
  entity: 'Vehicle',
  announced: true,
  doc: 'Vehicles, shared between the shops of a tenant. Their fields are not shown in the document.',
  source: 'Resources: Other resources',
  grain: 'one vehicle of a tenant',
  documented: false,
  fields: {
    id: id('Id of the vehicle.'),
    ...stamps,
  },
})
