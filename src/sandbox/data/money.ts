import { type Payment, payments } from './lifecycle.js'
import type { Order } from './order.js'
import { MINUTE, type Moment, SECOND, type World } from './world.js'

const FAILURES = [
  ['declined', '05', 'Do not honor'],
  ['retry', '19', 'Re-enter transaction'],
  ['transaction_cancelled_error', 'TC', 'Cancelled at the terminal'],
  ['terminal_not_connected_error', 'NC', 'Terminal not connected'],
] as const

/** Pays the invoice: writes the payments and their card transactions, and lists the payments on the order. */
export function pay(world: World, order: Order, at: Moment): void {
  const parts = payments(world, order)
  for (const [index, payment] of parts.entries()) {
    const time = at - (parts.length - 1 - index) * 40 * SECOND
    const record = {
      ...world.stamps('payments', time),
      repair_order_id: order.id,
      payment_type: payment.name === null ? payment.type : `${payment.type} - ${payment.name}`,
      payment_type_details: { type: payment.type, name: payment.name },
      notes: world.random.chance(0.05) ? 'Paid at drop-off' : '',
      amount_cents: payment.amount,
      integrator_tags: [],
    }
    if (payment.type === 'Credit Card') {
      if (world.random.chance(0.05)) transact(world, order, payment, null, time - 2 * MINUTE)
      transact(world, order, payment, record.id, time - 20 * SECOND)
    }
    const { payment_type, payment_type_details, notes, amount_cents } = record
    order.payments.push({ payment_type, payment_type_details, notes, amount_cents })
    world.emit('payments', record, time)
  }
}

function transact(world: World, order: Order, { amount }: Payment, payment: number | null, at: Moment): void {
  const { random } = world
  const [status, code, words] =
    payment === null ? random.pick(FAILURES) : (['approved', '00', 'Approval'] as const)
  const customer = world.customers[order.customer_id - 1]
  const record = {
    ...world.stamps('payment_transactions', at),
    payment_id: payment,
    repair_order_id: order.id,
    staff_id: order.advisor_id,
    status,
    serial_number: `C03${random.digits(9)}`,
    mid: '800000000264',
    requested_amount_cents: amount,
    amount_cents: payment === null ? 0 : amount,
    reference_number: `${order.number}-${random.digits(6)}`,
    account: `************${random.digits(4)}`,
    name: `${customer?.first ?? 'CARD'} ${customer?.last ?? 'HOLDER'}`.toUpperCase(),
    response_code: code,
    response_text: words,
    currency: 'USD',
    bin_type: random.pick(['visa', 'mastercard', 'amex', 'discover']),
    entry_mode: random.pick(['EMV', 'Contactless', 'Keyed']),
    avs_response: 'Y',
    cvv_response: 'M',
    authorization_code: payment === null ? '' : `A${random.digits(5)}`,
    integrator_tags: [],
  }
  world.emit('payment_transactions', record, at)
}
