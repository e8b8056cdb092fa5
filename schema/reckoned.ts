/**
 * Balances at the end of past months, as known today: snapshots only tell what was known then, and only from the first one
 * on. Each leg has what changes in a month; the view adds it up, month after month. Tables are in braces, as in the views
 * (view.ts).
 */
import { joinOrder, sane } from './lines.js'
import { isInvoice } from './open.js'
import type { PlainLeg } from './periods.js'
import type { JoinedDay, ViewWords } from './view.js'

/** The columns of the changes. `receivables_left_out` is the number of orders of which nobody knows what was owed then. */
export const reckonedColumns = ['receivables_cents', 'deposits_held_cents', 'receivables_left_out'] as const

export type Reckoned = (typeof reckonedColumns)[number]

/** What changes in a month, and what it comes to at its end. */
export const changeColumn = (column: Reckoned): string => `${column}_change`
export const soFar = (column: Reckoned): string => `${column}_so_far`

const paid = (q: ViewWords): JoinedDay => q.shopDay('d', 'o.tenant_id', 'o.shop_id', 'p.created_at')

const isBilled = `${isInvoice('o')} and o.closed_on is not null`

/** What was paid before an order was closed counts from its closing on. */
const monthPaid = (q: ViewWords): string =>
  `case when ${paid(q).day} > o.closed_on then ${q.month(paid(q).day)} else ${q.month('o.closed_on')} end`

const leg = (column: Reckoned, alias: string, change: string, from: string): PlainLeg => ({
  select: {
    ...Object.fromEntries(['tenant_id', 'shop_id'].map((name) => [name, `${alias}.${name}`])),
    period: `${alias}.month`,
    [changeColumn(column)]: change,
  },
  from,
})

/** The positive balances of invoices. Windows instead of groups: a condition on the shop reaches them. */
function receivables(q: ViewWords): PlainLeg {
  const order = 'o.tenant_id, o.shop_id, o.repair_order_id, o.total_cents'
  const known = `${isBilled} and o.total_cents is not null`
  const rows = `
      select ${order}, ${q.month('o.closed_on')} as month, 0 as cents
      from {repair_order_totals} o where ${known}
      union all
      select ${order}, ${monthPaid(q)} as month, ${sane('p.amount_cents')} as cents
      from {payments} p ${joinOrder('p')} ${paid(q).join}
      where p._deleted_at is null and ${known}`
  const ofOrder = (alias: string): string =>
    `over (partition by ${alias}.tenant_id, ${alias}.shop_id, ${alias}.repair_order_id order by ${alias}.month)`
  const owed = '(case when x.balance > 0 then x.balance else 0 end)'
  return leg(
    'receivables_cents',
    'v',
    'v.change',
    `(
      select x.tenant_id, x.shop_id, x.month, ${owed} - coalesce(lag(${owed}) ${ofOrder('x')}, 0) as change
      from (
        select y.tenant_id, y.shop_id, y.repair_order_id, y.month,
          y.total_cents - sum(coalesce(y.cents, 0)) ${ofOrder('y')} as balance
        from (${rows}) y) x) v
      where v.change <> 0`,
  )
}

/** What begins in a month, and what ends in the month `until` if there is one. */
const beginsAndEnds = (column: Reckoned, what: string, periods: string): PlainLeg =>
  leg(
    column,
    'z',
    `z.step * ${what}`,
    `(
      select w.*, s.step, case when s.step = 1 then w.begins else w.ends end as month
      from (${periods}) w join (select 1 as step union all select -1 as step) s on s.step = 1 or w.ends is not null
      where w.ends is null or w.begins < w.ends) z`,
  )

/** Payments on orders that aren't invoices: those on an invoice were held until it was closed. */
const deposits = (q: ViewWords): PlainLeg =>
  beginsAndEnds(
    'deposits_held_cents',
    'z.cents',
    `
      select o.tenant_id, o.shop_id, ${sane('p.amount_cents')} as cents, ${q.month(`coalesce(${paid(q).day}, o.created_on)`)} as begins,
        case when o.state = 'invoice' then ${q.month('o.closed_on')} end as ends
      from {payments} p ${joinOrder('p')} ${paid(q).join}
      where p._deleted_at is null and (o.state <> 'invoice' or o.closed_on is not null)`,
  )

/**
 * Invoices whose total is unknown. Invoices in the months when a payment counted that was deleted later. Orders that were
 * picked up and aren't invoices, which were opened again: as known today, they only don't count now. The condition on
 * deleted payments is turned around, not written as a negative: so it follows `report.unlisted`, as that of all rows does.
 */
function leftOut(q: ViewWords): PlainLeg {
  const gone = q.shopDay('g', 'o.tenant_id', 'o.shop_id', 'coalesce(p._deleted_at, p._unlisted_at)')
  // Of the shop's own zone: where the month is still running, another zone may be in the next one.
  const current = `(select ${q.month('t.day')} from today t where t.zone = ${q.zone('o.tenant_id', 'o.shop_id')})`
  return beginsAndEnds(
    'receivables_left_out',
    '1',
    `
      select o.tenant_id, o.shop_id, ${q.month('o.closed_on')} as begins, cast(null as text) as ends
      from {repair_order_totals} o where ${isBilled} and o.total_cents is null
      union all
      select u.tenant_id, u.shop_id, min(u.begins) as begins, max(u.ends) as ends
      from (
        select o.tenant_id, o.shop_id, o.repair_order_id, ${monthPaid(q)} as begins, ${q.month(gone.day)} as ends
        from {payments} p ${joinOrder('p')} ${paid(q).join} ${gone.join}
        where not (p._deleted_at is null) and ${isBilled} and o.total_cents is not null) u
      group by u.tenant_id, u.shop_id, u.repair_order_id
      union all
      select o.tenant_id, o.shop_id, ${q.month('o.picked_up_on')} as begins, ${current} as ends
      from {repair_order_totals} o
      where o.state <> 'invoice' and o.picked_up_on is not null and o._deleted_at is null`,
  )
}

export const reckonedLegs = (q: ViewWords): PlainLeg[] => [receivables(q), deposits(q), leftOut(q)]
