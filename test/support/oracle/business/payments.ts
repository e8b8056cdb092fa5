/** What the views of payments show. */
import { cents, type Fields, list, type Row, sum, unknowns } from './amounts.js'
import { type Bill, idOf } from './bills.js'
import { type Business, daysApart, groups } from './business.js'

const textOf = (text: unknown): string =>
  typeof text === 'string' && text.trim() !== '' ? text.trim() : '(none)'

/** A payment with its order, and its shop: that of its order, even if that was deleted. */
function placed(business: Business, payment: Fields) {
  const bill = business.billOf(payment)
  const deleted = business.deleted.find(({ order }) => order.id === payment.repair_order_id)
  const shop = (bill ?? deleted)?.order.shop_id
  const [day, closed] = [business.day(shop, payment.created_at), bill ? business.closed(bill.order) : null]
  const isDeposit = bill !== undefined && (closed === null || (day !== null && day < closed))
  const { type, name } = (payment.payment_type_details ?? {}) as Fields
  const amount = cents(payment.amount_cents)
  return { payment, bill, shop, day, closed, isDeposit, amount, type: textOf(type), typeName: textOf(name) }
}

const paymentsOf = (business: Business): ReturnType<typeof placed>[] =>
  business.records.of('payments').map((payment) => placed(business, payment))

/** An invoice is settled by the payment from which on all that was paid until then, and later, covers its total. */
export function paymentsLedger(business: Business): Row[] {
  // A payment without an order is alone.
  const ofOrder = ({ payment }: ReturnType<typeof placed>): unknown[] =>
    typeof payment.repair_order_id === 'number' ? [payment.repair_order_id] : ['alone', payment.id]
  return groups(paymentsOf(business), ofOrder).flatMap(([{ bill }, payments]) => {
    const sorted = payments.toSorted((a, b) => (isAfter(a.payment, b.payment) ? 1 : -1))
    const upTo = sorted.map((_, i) => sum(sorted.slice(0, i + 1).map(({ amount }) => amount)))
    const { total = null, order } = bill ?? {}
    const short = total === null ? -1 : upTo.findLastIndex((paid) => paid < total)
    const isShort = total !== null && (short >= 0 || total > 0n)
    const settling = order?.state === 'invoice' && isShort ? short + 1 : -1
    return sorted.map(({ payment, shop, day, closed, isDeposit, amount, type, typeName }, i) => {
      const isSettling = i === settling
      return {
        ...payment,
        shop_id: shop,
        customer_id: order?.customer_id,
        payment_id: payment.id,
        paid_at: payment.created_at,
        closed_on: closed,
        number: order?.number,
        state: order?.state,
        type,
        type_name: typeName,
        amount_cents: amount,
        is_refund: amount !== null && amount < 0n,
        is_deposit: isDeposit,
        paid_so_far_cents: upTo[i],
        settled_on: isSettling ? day : null,
        days_to_pay:
          isSettling && day !== null && closed !== null ? Math.max(0, daysApart(closed, day)) : null,
        order_gone: bill === undefined,
      }
    })
  })
}

const paymentsDaily = (business: Business): Row[] =>
  groups(paymentsOf(business), ({ shop, day, type, typeName }) => [shop, day, type, typeName]).map(
    ([{ shop, day, type, typeName }, own]) => {
      const amounts = own.map(({ amount }) => amount)
      const refunds = amounts.filter((amount) => amount !== null && amount < 0n)
      return {
        shop_id: shop,
        day,
        type,
        type_name: typeName,
        payments: own.length,
        amount_cents: sum(amounts),
        refunds: refunds.length,
        refund_payments: refunds.length,
        refund_cents: sum(refunds),
        amounts_unknown: unknowns(amounts),
        deposit_cents: sum(own.map(({ isDeposit, amount }) => (isDeposit ? amount : 0n))),
        order_gone_cents: sum(own.map(({ bill, amount }) => (bill ? 0n : amount))),
      }
    },
  )

function paymentsCheck(business: Business): Row[] {
  const listed = new Map<unknown, bigint>()
  for (const { repair_order_id: order, amount_cents } of business.records.of('payments'))
    listed.set(order, (listed.get(order) ?? 0n) + (cents(amount_cents) ?? 0n))
  const paid = business.bills.filter(
    ({ order }) => list(order, 'payments').length > 0 || listed.has(order.id),
  )
  const difference = ({ order, paid: own }: Bill): bigint => (listed.get(order.id) ?? 0n) - own
  const month = ({ order }: Bill): string | undefined => business.closed(order)?.slice(0, 7)
  return groups(paid, (bill) => [bill.order.shop_id, month(bill)]).map(([first, own]) => {
    const differ = own.filter((bill) => difference(bill) !== 0n)
    return {
      shop_id: first.order.shop_id,
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

export function cardAttempts(business: Business): Row[] {
  const all = business.records.of('payment_transactions')
  return all.map((one) => {
    const isFailed = one.status !== 'approved'
    // Later, for the same order.
    const isMadeUpFor = all.some(
      (other) =>
        other.repair_order_id === one.repair_order_id && other.status === 'approved' && isAfter(other, one),
    )
    const shop_id = business.orderOf(one)?.shop_id
    return {
      ...one,
      shop_id,
      payment_transaction_id: one.id,
      reader: one.serial_number,
      requested_amount_cents: cents(one.requested_amount_cents),
      amount_cents: cents(one.amount_cents),
      attempted_at: one.created_at,
      day: business.day(shop_id, one.created_at),
      failed: isFailed,
      failed_then_approved: isFailed && isMadeUpFor,
    }
  })
}

export const paymentViews = {
  payments_ledger: paymentsLedger,
  payments_daily: paymentsDaily,
  payments_check: paymentsCheck,
  card_attempts: cardAttempts,
}
