import { defineResource, id, type Shape, stamps } from '../../../schema/resource.js'

/** A made-up resource with these fields besides id and stamps. */
export const box = <F extends Shape>(fields: F) =>
  defineResource({
    name: 'boxes',
    singular: 'box',
    entity: 'Box',
    doc: 'A made-up resource.',
    source: 'nowhere',
    grain: 'one box of a tenant',
    fields: { id: id('Id.'), ...stamps, ...fields },
  })
