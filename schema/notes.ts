import { defineResource, id, personal, ref, stamps, text } from './resource.js'

export default defineResource({
  name: 'notes',
  singular: 'note',
  entity: 'Note',
  doc: 'Notes on repair orders.',
  source: 'Resources: Note',
  grain: 'one note on a repair order',
  undeclared: { who: 'text', preset: 'drop' },
  fields: {
    id: id('Id of the note.'),
    ...stamps,
    description: personal('text', 'drop', text('Text of the note.')),
    repair_order_id: ref('repair_orders', 'RO the note belongs to.', { indexed: true }),
  },
})
