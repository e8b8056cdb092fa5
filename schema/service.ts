import {
  boolean,
  cents,
  id,
  many,
  nullable,
  number,
  oneOf,
  personal,
  ref,
  stamps,
  text,
  timestamp,
} from './resource.js'

const labors = many(
  {
    table: 'labors',
    key: 'id',
    fields: {
      id: id('Id of the labor.'),
      ...stamps,
      name: text('Name.'),
      technician_id: ref('staffs', 'Staff.id of the technician.'),
      taxable: boolean('Whether it is taxable.'),
      hours: number('Hours.'),
    },
  },
  'Labor of services.',
)

const parts = many(
  {
    table: 'parts',
    key: 'id',
    fields: {
      id: id('Id of the part.'),
      ...stamps,
      brand: text('Brand.'),
      description: text('Description.'),
      number: text('Part number.'),
      quoted_price_cents: cents('Price per unit sold.'),
      cost_cents: cents('Cost per unit, wholesale.'),
      part_inventory_id: ref('inventories', 'Inventory.id of the part.'),
      taxable: boolean('Whether it is taxable.'),
      quantity: number('Quantity.'),
    },
  },
  'Parts of services.',
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
  'Hazardous materials and fees of services.',
)

const sublets = many(
  {
    table: 'sublets',
    key: 'id',
    fields: {
      id: id('Id of the sublet.'),
      ...stamps,
      name: text('Name.'),
      price_cents: cents('Price, sold to customer.'),
      cost_cents: cents('Cost, paid to provider.'),
      provider: text('Provider.'),
      invoice_number: text('Invoice number.'),
      description: text('Description.'),
      taxable: boolean('Whether it is taxable.'),
      vendor_id: ref('vendors', 'Vendor.id of the provider.'),
      invoice_date: timestamp('Date of the invoice.'),
    },
  },
  'Sublets of services: work done by others.',
)

const inspections = many(
  {
    table: 'inspections',
    key: 'id',
    fields: {
      id: id('Id of the inspection.'),
      ...stamps,
      name: text('Name.'),
      state: oneOf(['yellow', 'green', 'unchecked', 'red'], 'Result. Extensible.'),
      detail: personal('text', 'drop', text('Optional staff text.')),
    },
  },
  'Inspections of services.',
)

/** The shape of a service, on a repair order and in a recommendation. */
export const service = {
  id: id('Id of the service.'),
  ...stamps,
  title: text('Title.'),
  completed: boolean('true if marked completed by staff.'),
  category_id: nullable(ref('categories', 'Category the service belongs to.')),
  canned_job_id: nullable(ref('canned_jobs', 'CannedJob assigned to this service.')),
  comment: personal('text', 'drop', text('Comment.')),
  labor_rate_cents: nullable(cents('Labor rate for this service.')),
  completed_at: nullable(timestamp('When marked completed.')),
  last_completed_at: nullable(
    timestamp(
      'When last marked completed. It can differ from completed_at if the service was completed, restarted ' +
        'and completed again.',
    ),
  ),
  labors,
  parts,
  hazmats,
  sublets,
  inspections,
}
