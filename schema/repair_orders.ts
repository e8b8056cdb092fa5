import { lineColumns } from './derived/nets.js'
import { serviceColumns } from './derived/servicesums.js'
import {
  boolean,
  cents,
  defineResource,
  id,
  integer,
  many,
  nullable,
  number,
  object,
  oneOf,
  personal,
  ref,
  stamps,
  text,
  timestamp,
} from './resource.js'
import { service } from './service.js'

const payments = many(
  {
    table: 'payments',
    key: 'position',
    itemsOf: 'payments',
    fields: {
      payment_type: text('Display name of the payment type.'),
      payment_type_details: object(
        { type: text('Always present.'), name: nullable(text('May be null or blank.')) },
        'The type of the payment, in parts.',
      ),
      notes: personal('text', 'drop', text('Notes.')),
      amount_cents: cents('Amount.'),
    },
  },
  'Payments on repair orders.',
)

const label = nullable(
  object(
    {
      text: personal('text', 'hash', text('Text of the label.')),
      color_code: text('Color code of the label.'),
    },
    'Label.',
  ),
)

const discounts = {
  part_discount_cents: nullable(
    cents(
      'Total parts discount, subtracted from the parts subtotal before tax. ' +
        'Null if part_discount_percentage is non-null.',
    ),
  ),
  labor_discount_cents: nullable(
    cents(
      'Labor discount, subtracted from the labor subtotal before tax. ' +
        'Null if labor_discount_percentage is non-null.',
    ),
  ),
  part_discount_percentage: nullable(
    number('Percent, for example 7.55 means 7.55%. Null if part_discount_cents is non-null.'),
  ),
  labor_discount_percentage: nullable(
    number('Percent, for example 7.55 means 7.55%. Null if labor_discount_cents is non-null.'),
  ),
}

export default defineResource({
  name: 'repair_orders',
  singular: 'repair_order',
  entity: 'RepairOrder',
  announced: true,
  doc: 'Repair orders (RO): estimates, work in progress, and invoices.',
  source: 'Resources: RepairOrder (RO)',
  grain: 'one repair order of a shop',
  documented: false,
  computed: { by: 'repair_order_totals', columns: { services: serviceColumns, ...lineColumns } },
  undeclared: { who: 'text', preset: 'drop' },
  fields: {
    id: id('Id of the repair order.'),
    ...stamps,
    number: integer("Appears in responses. The API documentation doesn't describe it."),
    odometer: nullable(integer("Appears in responses. The API documentation doesn't describe it.")),
    odometer_out: nullable(integer("Appears in responses. The API documentation doesn't describe it.")),
    state: oneOf(
      ['estimate', 'in_progress', 'invoice'],
      'estimate: not started. in_progress: started_at is set. invoice: closed_at is set.',
    ),
    status_id: nullable(ref('statuses', 'Status.id.')),
    customer_id: ref('customers', 'Customer.id.', { indexed: true }),
    technician_id: ref('staffs', 'Staff.id of the assigned technician.'),
    advisor_id: ref('staffs', 'Staff.id of the service advisor.'),
    vehicle_id: ref('vehicles', 'Vehicle.id.', { indexed: true }),
    shop_id: ref('shops', 'Shop.id.'),
    detail: personal('text', 'drop', text('Staff notes.')),
    preferred_contact_type: personal(
      'customer',
      'keep',
      oneOf(['Waiting', 'Phone', 'Email', 'Text'], 'How the customer prefers to be contacted. Extensible.'),
    ),
    ...discounts,
    started_at: nullable(
      timestamp("Set when the RO was started and moved to 'in_progress'. Null while still an estimate."),
    ),
    closed_at: nullable(
      timestamp("Set when the RO was closed and moved to 'invoice'. Null until then.", { indexed: true }),
    ),
    picked_up_at: nullable(
      timestamp('When the vehicle was marked picked up. Null while the vehicle is in the shop.'),
    ),
    due_in_at: timestamp('Scheduled drop-off.'),
    due_out_at: timestamp('Scheduled pick-up.'),
    part_tax_rate: number('Tax rate applied to parts.'),
    labor_tax_rate: number('Tax rate applied to labor.'),
    sublet_tax_rate: number('Tax rate applied to sublets.'),
    hazmat_tax_rate: number('Tax rate applied to hazmats and fees.'),
    taxable: boolean('Whether tax rates apply to this RO.'),
    customer_source: personal(
      'customer',
      'keep',
      text('Marketing source of the customer, for example a repeat or referral source.'),
    ),
    supply_fee_cents: nullable(
      cents(
        'Shop supplies fee. If and only if null, the fee is computed from the settings of the shop (shop_id). ' +
          'If non-null, this value is the fee. It is taxed as a part.',
      ),
    ),
    services: many(
      { table: 'services', key: 'id', ownerColumn: 'service_id', moves: true, fields: service },
      'Services of repair orders.',
    ),
    payments,
    label,
  },
})
