import { boolean, defineResource, id, many, nullable, oneOf, ref, scalars, stamps, text } from './resource.js'

const states =
  'AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH ' +
  'OK OR PA RI SC SD TN TX UT VT WA WV WI WY AB BC MB NB NF NS ON PE PQ SK VA PR'

const phones = many(
  {
    table: 'phones',
    key: 'position',
    fields: {
      number: text('Number, E.164.'),
      national: text('National format.'),
      international: text('International format.'),
      country_code: text('Country calling code.'),
      label: nullable(text('Human-readable label.')),
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
  fields: {
    id: id('Id of the customer.'),
    ...stamps,
    first_name: text('First name.'),
    last_name: text('Last name.'),
    email: text('Email address, RFC 822 compliant.'),
    phone: text('Deprecated in favor of phones. `(###) ###-####` for US numbers, otherwise E.164.'),
    detail: text('Notes by staff about the customer.'),
    address: text('Address.'),
    city: text('City.'),
    state: oneOf(states.split(' '), 'State, a two-character code; blank if the shop has none.'),
    zip: text('Zip code.'),
    marketing_ok: boolean('true if the customer opted in to marketing.'),
    shop_ids: shopIds,
    phones,
  },
})
