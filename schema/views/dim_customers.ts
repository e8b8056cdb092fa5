import { col, common, defineView, type JoinedDay, takes, type ViewWords } from '../view.js'

/** A customer may have several phones. The field `phone` is the old way to say one. */
const phone = `coalesce(
  (select coalesce(nullif(p.national, ''), nullif(p.number, '')) from {customer_phones} p
    where p.tenant_id = r.tenant_id and p.customer_id = r.id
    order by case when p.preferred = true then 0 else 1 end, p.position limit 1),
  nullif(r.phone, ''))`

/** Shops share customers: the clock is that of `report.timeZone`. */
const entered = (q: ViewWords): JoinedDay =>
  q.shopDay('e', 'r.tenant_id', 'cast(null as bigint)', 'r.created_at')

/** How a customer is reached: the report shows these, by the names of their columns, with `report.contacts`. */
export const contactColumns = ['phone', 'email'] as const

export default defineView({
  name: 'dim_customers',
  doc: 'Customers, with names. Other views refer to this one by customer_key. Its columns but keys are named otherwise than those of `orders`, so that a join of the two needs no prefixes.',
  grain: 'one customer of a tenant, including those that only other rows refer to',
  columns: {
    customer_key: col.text.unique('Key of the customer: TENANT-ID. Unique.'),
    tenant_id: common.tenant_id,
    customer_id: col.id.always('The customer.'),
    full_name: col.text.always('Company; otherwise first and last name; otherwise `customer 5`.', {
      personal: true,
      names: 'customer_id',
    }),
    first_name: col.text('First name.', { personal: true }),
    last_name: col.text('Last name.', { personal: true }),
    city: col.text('City.', { personal: true }),
    region: col.text('State or province: two letters.'),
    zip: col.text('Zip code.', { personal: true }),
    marketing_ok: col.boolean('Whether the customer opted in to marketing.'),
    entered_at: col.timestamp('When the customer was first entered.'),
    is_deleted: col.boolean.always('Whether it is no longer at the source.'),
    phone: col.text('The preferred phone number, otherwise the first one, as people write it.', {
      personal: true,
    }),
    email: col.text('Email address.', { personal: true }),
    entered_on: col.day(
      'The day the customer was first entered, in `report.timeZone`: shops share customers.',
    ),
    entered_at_local: col.text('When that was, in `report.timeZone`: YYYY-MM-DD HH:MM:SS.'),
  },
  example: 'select customer_key, full_name from dim_customers order by full_name limit 20',
  build: (q) => ({
    with: `ids as (${q.ids('customers')})`,
    select: {
      ...takes('r', 'first_name', 'last_name', 'city', 'zip', 'marketing_ok'),
      customer_key: q.key('i.tenant_id', 'i.id'),
      tenant_id: 'i.tenant_id',
      customer_id: 'i.id',
      region: 'r.state',
      entered_at: 'r.created_at',
      full_name: q.name('customers', 'r', 'i.id'),
      is_deleted: 'r._deleted_at is not null',
      phone,
      email: "nullif(r.email, '')",
      entered_on: entered(q).day,
      entered_at_local: entered(q).local,
    },
    from: `ids i
left join {customers} r on r.tenant_id = i.tenant_id and r.id = i.id ${entered(q).join}`,
  }),
})
