/**
 * What customers owed at the end of past months, reckoned from closings and payments: snapshots only tell it from the
 * first one on. Tables are in braces, as in the views (view.ts).
 */
import { sane } from './lines.js'
import { isInvoice } from './open.js'
import type { PlainLeg } from './periods.js'
import type { ViewWords } from './view.js'

/** Months of the view's calendar (`months`) from one on, and before another one if that is known. */
const during = (from: string, before: string): string =>
  `m.month >= ${from} and (${before} is null or m.month < ${before})`

/** The months that are over or running somewhere. */
const sofar = (q: ViewWords): string =>
  `m.month <= (select ${q.month('t.day')} from today t order by t.day desc limit 1)`

/**
 * The positive balances at the end of each month. What was paid before an order was closed counts from its closing on.
 * Windows instead of groups: a condition on the shop reaches them.
 */
function balances(q: ViewWords): PlainLeg {
  const paid = q.plainDays.shopDay('d', 'o.tenant_id', 'o.shop_id', 'p.created_at')
  const month = `case when ${paid.day} > o.closed_on then ${q.month(paid.day)} else ${q.month('o.closed_on')} end`
  const known = `${isInvoice('o')} and o.total_cents is not null and o.closed_on is not null`
  const rows = `
      select o.tenant_id, o.shop_id, o.repair_order_id, o.total_cents, ${q.month('o.closed_on')} as month, 0 as cents
      from {repair_order_totals} o where ${known}
      union all
      select o.tenant_id, o.shop_id, o.repair_order_id, o.total_cents, ${month} as month, ${sane('p.amount_cents')} as cents
      from {payments} p join {repair_order_totals} o on o.tenant_id = p.tenant_id and o.repair_order_id = p.repair_order_id ${paid.join}
      where p._deleted_at is null and ${known}`
  const ofOrder = 'over (partition by y.tenant_id, y.shop_id, y.repair_order_id order by y.month)'
  const owed = '(case when x.balance > 0 then x.balance else 0 end)'
  const before = `lag(${owed}) over (partition by x.tenant_id, x.shop_id, x.repair_order_id order by x.month)`
  // What each order changes in a month is added up for its shop: few rows remain to be repeated month after month.
  return {
    select: { tenant_id: 'r.tenant_id', shop_id: 'r.shop_id', period: 'm.month', reckoned: 'r.balance' },
    from: `(
      select w.tenant_id, w.shop_id, w.month, w.balance,
        lead(w.month) over (partition by w.tenant_id, w.shop_id order by w.month) as next_month
      from (
        select v.tenant_id, v.shop_id, v.month,
          sum(v.change) over (partition by v.tenant_id, v.shop_id order by v.month) as balance,
          row_number() over (partition by v.tenant_id, v.shop_id, v.month order by v.month) as place
        from (
          select x.tenant_id, x.shop_id, x.month, ${owed} - coalesce(${before}, 0) as change
          from (
            select y.tenant_id, y.shop_id, y.repair_order_id, y.month,
              y.total_cents - sum(coalesce(y.cents, 0)) ${ofOrder} as balance
            from (${rows}) y) x) v) w
      where w.place = 1) r
      join months m on ${during('r.month', 'r.next_month')} and ${sofar(q)}
      where r.balance <> 0`,
  }
}

/**
 * Months in which a payment counted that was deleted later: nobody knows what was owed then. The condition is turned
 * around, not written as a negative: so it follows `report.unlisted`, as that of all rows does.
 */
function deletedPayments(q: ViewWords): PlainLeg {
  const paid = q.plainDays.shopDay('d', 'o.tenant_id', 'o.shop_id', 'p.created_at')
  const gone = q.plainDays.shopDay('g', 'o.tenant_id', 'o.shop_id', 'coalesce(p._deleted_at, p._unlisted_at)')
  return {
    select: { tenant_id: 'z.tenant_id', shop_id: 'z.shop_id', period: 'm.month', unsure: '1' },
    from: `(
      select o.tenant_id, o.shop_id, ${q.month(paid.day)} as month, ${q.month(gone.day)} as gone
      from {payments} p join {repair_order_totals} o on o.tenant_id = p.tenant_id and o.repair_order_id = p.repair_order_id
        ${paid.join} ${gone.join}
      where not (p._deleted_at is null)) z
      join months m on ${during('z.month', 'z.gone')} and ${sofar(q)}`,
  }
}

/** Months since an order was picked up that isn't an invoice any more: it was one, and was opened again. */
const opened = (q: ViewWords): PlainLeg => ({
  select: { tenant_id: 'o.tenant_id', shop_id: 'o.shop_id', period: 'm.month', unsure: '1' },
  from: `{repair_order_totals} o join months m on m.month >= ${q.month('o.picked_up_on')} and ${sofar(q)}
      where o.state <> 'invoice' and o.picked_up_on is not null and o._deleted_at is null`,
})

/** The columns `reckoned` and `unsure` of each shop and month. */
export const reckonedLegs = (q: ViewWords): PlainLeg[] => [balances(q), deletedPayments(q), opened(q)]

/** A snapshot's figure takes precedence over what is reckoned. */
export const orReckoned = (snapshot: string): string =>
  `case when ${snapshot} is not null then ${snapshot} when ${isReckoned(snapshot)} then coalesce(x.reckoned, 0) end`

export const isReckoned = (snapshot: string): string => `(${snapshot} is null and coalesce(x.unsure, 0) = 0)`
