/**
 * How an order is paid: deposits, payments, card transactions, refunds. Used by generate.ts and work.ts.
 */
import { billTotal, laborGross } from './bill.js'
import { DAY, HOUR, MINUTE, type Moment, SECOND } from './moment.js'
import type { Order } from './order.js'
import type { CustomerFacts, ShopFacts, World } from './world.js'

const FAILURES = [
  ['declined', '05', 'Do not honor'],
  ['declined', '51', 'Insufficient funds'],
  ['retry', '19', 'Re-enter transaction'],
  ['transaction_cancelled_error', 'TC', 'Cancelled at the terminal'],
  ['terminal_not_connected_error', 'NC', 'Terminal not connected'],
] as const

interface Payment {
  readonly type: string
  readonly name: string | null
  readonly amount: number
}

const paidSoFar = ({ payments }: Order): number =>
  payments.reduce((sum, { amount_cents }) => sum + amount_cents, 0)

/**
 * When a bill is paid: over the counter; a few weeks later by fleets; only after reminders by a few; never by even
 * fewer.
 */
export function paidAt({ random }: World, shop: ShopFacts, customer: CustomerFacts, closed: Moment): Moment {
  const days = (count: number): Moment => shop.hours.opened(closed + Math.floor(count * DAY))
  if (customer.onAccount) return days(8 + random.next() * 30)
  if (random.chance(0.004)) return days(-Math.log(1 - random.next()) * 20)
  if (random.chance(0.0002)) return Number.POSITIVE_INFINITY
  return closed + random.integer(60, 900) * SECOND
}

/** Pays what is still due, with one payment or occasionally two. Returns when the last one was made. */
export function pay(world: World, order: Order, at: Moment): Moment {
  const { random } = world
  const due = billTotal(order) - paidSoFar(order)
  if (due === 0) return at
  const first = due > 0 && random.chance(0.05) ? Math.floor(due * (0.2 + random.next() * 0.5)) : due
  const amounts = [first, due - first].filter((amount) => amount !== 0)
  for (const [index, amount] of amounts.entries())
    tender(world, order, { ...kindOf(world, order), amount }, at - (amounts.length - 1 - index) * 40 * SECOND)
  return at
}

/** Money in advance, before parts are ordered for a large job. */
export function deposit(world: World, order: Order, at: Moment): void {
  if (!world.random.chance(0.15)) return
  const total = billTotal(order)
  if (total < 60_000) return
  const amount = Math.round((total * (0.25 + world.random.next() * 0.25)) / 1000) * 1000
  tender(world, order, { ...kindOf(world, order), amount }, at, 'Deposit')
}

/** Sometimes the shop refunds money a few days later. The payments still add up to the bill. */
export function refund(world: World, shop: ShopFacts, order: Order, paid: Moment, until: Moment): Moment {
  const { random } = world
  const [payment] = order.payments
  const at = shop.hours.after(paid, Math.floor((0.3 + random.next() * 30) * HOUR))
  if (payment === undefined || at > until || !random.chance(0.016)) return paid
  const { type, name } = payment.payment_type_details
  const money = { type, name, amount: payment.amount_cents }
  if (random.chance(0.35)) {
    tender(world, order, money, paid + MINUTE, 'Charged twice')
    tender(world, order, { ...money, amount: -money.amount }, at, 'Refund: charged twice')
    return at
  }
  if (order.labor_discount_cents !== 0) return paid
  const before = billTotal(order)
  order.labor_discount_cents = Math.min(random.integer(10, 60) * 100, Math.floor(laborGross(order) / 2))
  const amount = billTotal(order) - before
  if (amount !== 0) tender(world, order, { ...money, amount }, at, 'Refund: goodwill')
  return at
}

function kindOf(world: World, order: Order): Omit<Payment, 'amount'> {
  const { random } = world
  if (world.customer(order.customer_id)?.onAccount === true)
    return random.chance(0.7) ? { type: 'Check', name: null } : { type: 'Other', name: 'Fleet' }
  const kind = random.weighted([0.76, 0.1, 0.1, 0.04])
  if (kind === 0) return { type: 'Credit Card', name: random.chance(0.3) ? 'Visa' : null }
  return kind === 3
    ? { type: 'Other', name: 'Warranty' }
    : { type: kind === 1 ? 'Cash' : 'Check', name: null }
}

/**
 * Writes a payment and its card transactions, and lists it on the order. Some cards fail; one in four of those is given
 * up.
 */
function tender(world: World, order: Order, offered: Payment, at: Moment, notes = ''): void {
  const { random } = world
  let payment = offered
  if (offered.type === 'Credit Card' && offered.amount > 0 && random.chance(0.05)) {
    transact(world, order, offered, null, at - 35 * SECOND)
    if (random.chance(0.25)) payment = { ...offered, type: random.pick(['Cash', 'Check']), name: null }
  }
  const { type, name, amount } = payment
  const record = {
    ...world.stamps('payments', at),
    repair_order_id: order.id,
    payment_type: name === null ? type : `${type} - ${name}`,
    payment_type_details: { type, name },
    notes,
    amount_cents: amount,
    integrator_tags: [],
  }
  if (type === 'Credit Card') transact(world, order, payment, record.id, at - 12 * SECOND)
  const { payment_type, payment_type_details, amount_cents } = record
  order.payments.push({ payment_type, payment_type_details, notes, amount_cents })
  world.emit('payments', record, at)
}

function transact(world: World, order: Order, { amount }: Payment, payment: number | null, at: Moment): void {
  const { random } = world
  const [status, code, words] =
    payment === null ? random.pick(FAILURES) : (['approved', '00', 'Approval'] as const)
  const customer = world.customer(order.customer_id)
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
