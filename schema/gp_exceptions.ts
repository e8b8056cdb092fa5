import { defineResource, id, number, ref, stamps, text } from './resource.js'

export default defineResource({
  name: 'gp_exceptions',
  singular: 'gp_exception',
  entity: 'GpException',
  doc: 'Exceptions of the GP Optimizer: fixed markups on parts.',
  source: 'Resources: GpException',
  grain: 'one markup exception of a tenant',
  fields: {
    id: id('Id of the exception.'),
    ...stamps,
    name: text('Name.'),
    shop_id: ref('shops', 'Shop it belongs to.'),
    percent: number('Percent markup, 24.5 means 24.5%.'),
  },
})
