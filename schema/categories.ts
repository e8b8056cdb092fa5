import { defineResource, id, stamps, text } from './resource.js'

export default defineResource({
  name: 'categories',
  singular: 'category',
  entity: 'Category',
  announced: true,
  doc: 'Kinds of work, to which canned jobs and services belong.',
  source: 'Resources: Category',
  grain: 'one category of a tenant',
  fields: {
    id: id('Id of the category.'),
    ...stamps,
    text: text('Category description.'),
  },
})
