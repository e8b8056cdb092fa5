/** What the views of payments show. */
import { cents, type Fields, list, type Row, sum, unknowns } from './amounts.js'
import { type Bill, idOf } from './bills.js'
import { type Business, groups, instantOf, key } from './business.js'

const textOf = (text: unknown): string =>
  typeof text === 'string' && text.trim() !== '' ? text.trim() : '(none)'

/** A payment with its order, and its shop: that of its order, even if that was deleted. */
export function placedPayment(business: Business, payment: Fields) {
  const bill = business.byOrder.get(Number(payment.repair_order_id))
  const deleted = business.deleted.find(({ order }) => order.id === payment.repair_order_id)?.order
  const shop = (bill?.order ?? deleted)?.shop_id ?? null
  const [day, closed] = [business.day(shop, payment.created_at), bill ? business.closed(bill.order) : null]
  const isDeposit = bill !== undefined && (closed === null || (day !== null && day < closed))
  const { type, name } = (payment.payment_type_details ?? {}) as Fields
  return {
    payment,
    bill,
    shop,
    day,
    closed,
    isDeposit,
    amount: cents(payment.amount_cents),
    type: textOf(type),
    typeName: textOf(name),
  }
}

/** An invoice is settled by the payment from which on all that was paid until then, and later, covers its total. */
function paymentsLedger(business: Business): Row[] {
  const all = business.records.of('payments').map((payment) => placedPayment(business, payment))
  // A payment without an order is alone.
  const ofOrder = ({ payment: { repair_order_id: order, id } }: (typeof all)[number]): unknown[] =>
    order === null || order === undefined ? ['alone', id] : [order]
  return groups(all, ofOrder).flatMap(([{ bill }, payments]) => {
    const sorted = payments.toSorted(({ payment: a }, { payment: b }) => {
      const [first, second] = [String(a.created_at), String(b.created_at)]
      return first < second ? -1 : first > second ? 1 : idOf(a) < idOf(b) ? -1 : 1
    })
    const upTo = sorted.map((_, i) => sum(sorted.slice(0, i + 1).map(({ amount }) => amount)))
    const { total = null, order } = bill ?? {}
    const short = total === null ? -1 : upTo.findLastIndex((paid) => paid < total)
    const isShort = total !== null && (short >= 0 || total > 0n)
    const settling = order?.state === 'invoice' && isShort ? short + 1 : -1
    return sorted.map(({ payment, shop, day, closed, isDeposit, amount, type, typeName }, i) => {
      const between =
        day !== null && closed !== null ? (Date.parse(day) - Date.parse(closed)) / 86_400_000 : null
      return {
        ...business.shop(shop),
        ...business.named('customer', 'customers', order?.customer_id),
        payment_id: payment.id,
        payment_key: key(business.tenant, payment.id),
        paid_at: instantOf(payment.created_at),
        paid_on: day,
        paid_at_local: business.clock(shop, payment.created_at),
        closed_on: closed,
        repair_order_id: payment.repair_order_id ?? null,
        repair_order_key: key(business.tenant, payment.repair_order_id),
        number: order?.number ?? null,
        state: order?.state ?? null,
        type,
        type_name: typeName,
        amount_cents: amount,
        is_refund: amount !== null && amount < 0n,
        is_deposit: isDeposit,
        paid_so_far_cents: upTo[i],
        settled_on: i === settling ? day : null,
        days_to_pay: i === settling && between !== null ? Math.max(0, between) : null,
        order_gone: bill === undefined,
        notes: payment.notes ?? null,
      }
    })
  })
}

function paymentsDaily(business: Business): Row[] {
  const rows = business.records.of('payments').map((payment) => placedPayment(business, payment))
  return groups(rows, ({ shop, day, type, typeName }) => [shop, day, type, typeName]).map(([first, own]) => {
    const refunds = own.filter(({ amount }) => amount !== null && amount < 0n)
    return {
      ...business.shop(first.shop),
      day: first.day,
      type: first.type,
      type_name: first.typeName,
      payments: own.length,
      amount_cents: sum(own.map(({ amount }) => amount)),
      refunds: refunds.length,
      refund_payments: refunds.length,
      refund_cents: sum(refunds.map(({ amount }) => amount)),
      amounts_unknown: unknowns(own.map(({ amount }) => amount)),
      deposit_cents: sum(own.map(({ isDeposit, amount }) => (isDeposit ? amount : 0n))),
      order_gone_cents: sum(own.map(({ bill, amount }) => (bill ? 0n : amount))),
    }
  })
}

function paymentsCheck(business: Business): Row[] {
  const listed = new Map<number, bigint>()
  for (const { repair_order_id, amount_cents } of business.records.of('payments')) {
    const order = Number(repair_order_id)
    listed.set(order, (listed.get(order) ?? 0n) + (cents(amount_cents) ?? 0n))
  }
  const paid = business.bills.filter(
    ({ order }) => list(order, 'payments').length > 0 || listed.has(idOf(order)),
  )
  const difference = ({ order, paid: own }: Bill): bigint => (listed.get(idOf(order)) ?? 0n) - own
  const month = ({ order }: Bill): string | null => business.closed(order)?.slice(0, 7) ?? null
  return groups(paid, (bill) => [bill.order.shop_id, month(bill)]).map(([first, own]) => {
    const differ = own.filter((bill) => difference(bill) !== 0n)
    return {
      ...business.shop(first.order.shop_id),
      month: month(first),
      orders: own.length,
      equal: own.length - differ.length,
      differ: differ.length,
      difference_cents: sum(differ.map(difference)),
    }
  })
}

const isAfter = (later: Fields, earlier: Fields): boolean => {
  const [a, b] = [String(later.created_at), String(earlier.created_at)]
  return a > b || (a === b && idOf(later) > idOf(earlier))
}

/** Whether a later attempt to charge for the same order was approved. */
export const isMadeUpFor = (business: Business, failed: Fields): boolean =>
  business.records
    .of('payment_transactions')
    .some(
      (other) =>
        other.repair_order_id === failed.repair_order_id &&
        other.status === 'approved' &&
        isAfter(other, failed),
    )

const cardAttempts = (business: Business): Row[] =>
  business.records.of('payment_transactions').map((one) => {
    const shop = business.byOrder.get(Number(one.repair_order_id))?.order.shop_id
    const isFailed = one.status !== 'approved'
    return {
      ...business.shop(shop),
      ...business.named('staff', 'staffs', one.staff_id),
      payment_transaction_id: one.id,
      payment_transaction_key: key(business.tenant, one.id),
      repair_order_id: one.repair_order_id ?? null,
      repair_order_key: key(business.tenant, one.repair_order_id),
      reader: one.serial_number ?? null,
      status: one.status ?? null,
      response_code: one.response_code ?? null,
      requested_amount_cents: cents(one.requested_amount_cents),
      amount_cents: cents(one.amount_cents),
      attempted_at: instantOf(one.created_at),
      day: business.day(shop, one.created_at),
      attempted_at_local: business.clock(shop, one.created_at),
      failed: isFailed,
      failed_then_approved: isFailed && isMadeUpFor(business, one),
    }
  })

export const paymentViews = {
  payments_ledger: paymentsLedger,
  payments_daily: paymentsDaily,
  payments_check: paymentsCheck,
  card_attempts: cardAttempts,
}
