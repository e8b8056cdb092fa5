import { boolean, cents, defineResource, id, many, number, ref, stamps, text } from './resource.js'

const sublets = many(
  {
    table: 'sublets',
    key: 'id',
    fields: {
      id: id('Id of the sublet.'),
      ...stamps,
      name: text('Name.'),
      price_cents: cents('Price.'),
      taxable: boolean('Whether it is taxable.'),
    },
  },
  'Sublets of canned jobs.',
)

const inspections = many(
  {
    table: 'inspections',
    key: 'id',
    fields: {
      id: id('Id of the inspection.'),
      ...stamps,
      name: text('Name, as it appears on the repair order.'),
    },
  },
  'Inspections of canned jobs.',
)

const vehicles = many(
  {
    table: 'vehicles',
    key: 'id',
    fields: {
      id: id('Id of the item.'),
      ...stamps,
      year: text('Year.'),
      make: text('Make.'),
      model: text('Model.'),
      engine: text('Engine.'),
    },
  },
  'Kinds of vehicles that canned jobs apply to.',
)

const hazmats = many(
  {
    table: 'hazmats',
    key: 'id',
    fields: {
      id: id('Id of the hazmat.'),
      ...stamps,
      name: text('Name.'),
      fee_cents: cents('Fee per unit.'),
      taxable: boolean('Whether it is taxable.'),
      quantity: number('Quantity.'),
    },
  },
  'Hazardous materials and fees of canned jobs.',
)

const parts = many(
  {
    table: 'parts',
    key: 'id',
    fields: {
      id: id('Id of the part.'),
      ...stamps,
      part_inventory_id: ref('inventories', 'Inventory.id of the part.'),
      taxable: boolean('Whether it is taxable.'),
      quantity: number('Quantity.'),
    },
  },
  'Parts of canned jobs.',
)

const labors = many(
  {
    table: 'labors',
    key: 'id',
    fields: {
      id: id('Id of the labor.'),
      ...stamps,
      name: text('Name.'),
      taxable: boolean('Whether it is taxable.'),
      hours: number('Hours.'),
    },
  },
  'Labor of canned jobs.',
)

export default defineResource({
  name: 'canned_jobs',
  singular: 'canned_job',
  entity: 'CannedJob',
  doc: 'Prepared jobs that can be added to estimates.',
  source: 'Resources: CannedJob',
  grain: 'one canned job of a tenant',
  fields: {
    id: id('Id of the canned job.'),
    ...stamps,
    title: text('Title.'),
    all_vehicles: boolean('true if the job applies to all vehicles rather than only specific ones.'),
    frequency: number('Popularity. The most used jobs have the highest value.'),
    category_id: ref('categories', 'Category the job belongs to.'),
    auto_applied: boolean('true if applied to every new estimate automatically.'),
    shop_id: ref('shops', 'Shop the job belongs to.'),
    optimizer_enabled: boolean('true if the GP Optimizer is used when pricing parts on this job.'),
    sublets,
    inspections,
    vehicles,
    hazmats,
    parts,
    labors,
  },
})
