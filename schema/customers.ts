import {
  boolean,
  defineResource,
  id,
  many,
  nullable,
  oneOf,
  personal,
  ref,
  scalars,
  stamps,
  text,
} from './resource.js'

const states =
  'AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH ' +
  'OK OR PA RI SC SD TN TX UT VT WA WV WI WY AB BC MB NB NF NS ON PE PQ SK VA PR'

const phones = many(
  {
    table: 'phones',
    key: 'position',
    fields: {
      number: personal('customer', 'hash', text('Number, E.164.'), 'phone'),
      national: personal('customer', 'hash', text('National format.'), 'phone'),
      international: personal('customer', 'hash', text('International format.'), 'phone'),
      country_code: personal('customer', 'keep', text('Country calling code.')),
      label: personal('text', 'drop', nullable(text('Human-readable label.'))),
      preferred: boolean('true if this is a preferred contact method.'),
    },
  },
  'Phone numbers of customers.',
)

const shopIds = scalars(
  {
    table: 'shops',
    column: 'shop_id',
    key: 'value',
    of: ref('shops', 'Shop where the customer had service history.'),
  },
  'Shops where customers had service history.',
)

export default defineResource({
  name: 'customers',
  singular: 'customer',
  entity: 'Customer',
  announced: true,
  doc: 'Customers, shared between the shops of a tenant.',
  source: 'Resources: Customer',
  grain: 'one customer of a tenant',
  undeclared: { who: 'customer', preset: 'drop' },
  forgettable: true,
  fields: {
    id: id('Id of the customer.'),
    ...stamps,
    first_name: personal('customer', 'hash', text('First name.')),
    last_name: personal('customer', 'hash', text('Last name.')),
    email: personal('customer', 'hash', text('Email address, RFC 822 compliant.'), 'email'),
    phone: personal(
      'customer',
      'hash',
      text('Deprecated in favor of phones. `(###) ###-####` for US numbers, otherwise E.164.'),
      'phone',
    ),
    detail: personal('text', 'drop', text('Notes by staff about the customer.')),
    address: personal('customer', 'hash', text('Address.')),
    city: personal('customer', 'hash', text('City.')),
    state: personal(
      'customer',
      'keep',
      oneOf(states.split(' '), 'State, a two-character code; blank if the shop has none.'),
    ),
    zip: personal('customer', 'hash', text('Zip code.')),
    marketing_ok: personal('customer', 'keep', boolean('true if the customer opted in to marketing.')),
    shop_ids: shopIds,
    phones,
  },
})
