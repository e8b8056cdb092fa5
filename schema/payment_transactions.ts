import { cents, datedStamps, defineResource, id, nullable, oneOf, personal, ref, text } from './resource.js'

const statuses =
  'approved retry declined authentication_error invalid_hsn request_error server_error ' +
  'terminal_not_connected_error terminal_in_use_error transaction_cancelled_error pin_debit_not_supported ' +
  'decryption_failure signature_not_supported'

export default defineResource({
  name: 'payment_transactions',
  singular: 'payment_transaction',
  entity: 'PaymentTransaction',
  announced: true,
  doc: 'Attempts to charge or refund a card.',
  source: 'Resources: PaymentTransaction',
  grain: 'one attempt to charge or refund a card',
  undeclared: { who: 'card', preset: 'drop' },
  fields: {
    id: id('Id of the transaction.'),
    ...datedStamps,
    payment_id: nullable(
      ref(
        'payments',
        'Payment that appears on the RO and in reporting. Created only for authorized transactions.',
        { indexed: true },
      ),
    ),
    repair_order_id: ref('repair_orders', 'RO the transaction was made against.', { indexed: true }),
    staff_id: ref('staffs', 'Staff member who attempted it.'),
    status: oneOf(statuses.split(' '), "Outcome. Only 'approved' is successful (authorized)."),
    serial_number: text('HSN of the card reader.'),
    mid: text('Merchant id.'),
    requested_amount_cents: cents('Amount the user tried to charge or refund.'),
    amount_cents: cents('Amount actually charged or refunded.'),
    reference_number: personal('card', 'hash', text('Unique reference of the transaction.')),
    account: personal('card', 'hash', text('Obfuscated card account number.')),
    name: personal('card', 'hash', text('Name on the card.')),
    response_code: text('Raw gateway response code.'),
    response_text: personal('card', 'drop', text('Human-readable status description.')),
    currency: text("Appears in responses. The API documentation doesn't describe it."),
    bin_type: text("Appears in responses. The API documentation doesn't describe it."),
    entry_mode: text("Appears in responses. The API documentation doesn't describe it."),
    avs_response: text("Appears in responses. The API documentation doesn't describe it."),
    cvv_response: text("Appears in responses. The API documentation doesn't describe it."),
    authorization_code: personal(
      'card',
      'hash',
      text("Appears in responses. The API documentation doesn't describe it."),
    ),
  },
})
