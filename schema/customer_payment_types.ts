import { defineResource, text } from './resource.js'

export default defineResource({
  name: 'customer_payment_types',
  singular: 'customer_payment_type',
  entity: 'CustomerPaymentType',
  doc: "The tenant's custom payment type names.",
  source: 'Operations: GET payments/customer_payment_types',
  grain: 'one custom payment type name of a tenant',
  path: 'payments/customer_payment_types',
  list: 'strings',
  fields: {
    name: text('Name of the payment type.'),
  },
})
