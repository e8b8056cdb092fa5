import {
  cents,
  datedStamps,
  defineResource,
  id,
  nullable,
  object,
  oneOf,
  personal,
  ref,
  text,
} from './resource.js'

export default defineResource({
  name: 'payments',
  singular: 'payment',
  entity: 'Payment',
  rungBy: ['repair_orders'],
  doc: 'Payments on repair orders.',
  source: 'Resources: Payment',
  grain: 'one payment on a repair order',
  undeclared: { who: 'text', preset: 'drop' },
  fields: {
    id: id('Id of the payment.'),
    ...datedStamps,
    repair_order_id: ref('repair_orders', 'RO that was paid for.', { indexed: true }),
    payment_type: text(
      "Display name: the type and, if present, the name, joined with ' - '. " +
        'Payment types are customizable per shop.',
    ),
    payment_type_details: object(
      {
        type: oneOf(['Credit Card', 'Check', 'Cash', 'Other'], 'Type of the payment.'),
        name: nullable(text("Only for 'Credit Card' or 'Other'; alphanumeric, at most 25 characters.")),
      },
      'The type of the payment, in parts.',
    ),
    notes: personal('text', 'drop', text('Notes.')),
    amount_cents: cents('Amount.'),
  },
})
