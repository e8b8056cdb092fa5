/**
 * The current state of each shop, as one query: what `shopsync snapshot` stores for each day. Tables are in braces, as
 * in the views (view.ts); each figure is the one from the view that shows it for today.
 */
import { isBelowMinimum, joinOrder, sane, worth } from './lines.js'
import { daysSinceClosing, isUnsettled } from './open.js'
import type { ViewWords } from './view.js'

const balances = (name: string, condition: string): string =>
  `coalesce(sum(case when ${condition} then x.balance_cents end), 0) as ${name}`

const stock = (q: ViewWords): string => `
  select i.tenant_id, i.shop_id, count(*) as stock_items,
    coalesce(sum(${worth(q, 'i.quantity_on_hand', 'i.cost_cents')}), 0) as stock_cents,
    coalesce(sum(case when ${isBelowMinimum(q, 'i')} then 1 else 0 end), 0) as below_minimum
  from {inventories} i where i._deleted_at is null group by i.tenant_id, i.shop_id`

const work = `
  select o.tenant_id, o.shop_id,
    coalesce(sum(case when o.state = 'in_progress' then 1 else 0 end), 0) as work_in_progress,
    coalesce(sum(case when o.state = 'in_progress' then o.sales_cents end), 0) as work_in_progress_sales_cents,
    coalesce(sum(case when o.state = 'estimate' then 1 else 0 end), 0) as open_estimates,
    coalesce(sum(case when o.state = 'estimate' then o.sales_cents end), 0) as open_estimates_sales_cents
  from {repair_order_totals} o
  where o._deleted_at is null and o.state in ('estimate', 'in_progress') group by o.tenant_id, o.shop_id`

const receivables = (q: ViewWords): string => `
  select x.tenant_id, x.shop_id, count(*) as receivables, count(*) - count(x.balance_cents) as receivables_unknown,
    coalesce(sum(x.balance_cents), 0) as receivables_cents,
    ${balances('receivables_0_30_cents', 'x.days <= 30')},
    ${balances('receivables_31_60_cents', 'x.days between 31 and 60')},
    ${balances('receivables_61_90_cents', 'x.days between 61 and 90')},
    ${balances('receivables_over_90_cents', 'x.days > 90')},
    ${balances('to_collect_cents', 'x.balance_cents > 0')},
    ${balances('to_collect_over_30_cents', 'x.balance_cents > 0 and x.days > 30')},
    ${balances('to_collect_over_60_cents', 'x.balance_cents > 0 and x.days > 60')},
    ${balances('to_collect_over_90_cents', 'x.balance_cents > 0 and x.days > 90')},
    ${balances('credits_cents', 'x.balance_cents < 0')}
  from (select o.tenant_id, o.shop_id, o.balance_cents, ${daysSinceClosing(q, 'o')} as days
    from {repair_order_totals} o where ${isUnsettled('o')}) x
  group by x.tenant_id, x.shop_id`

const deposits = `
  select o.tenant_id, o.shop_id, coalesce(sum(${sane('p.amount_cents')}), 0) as deposits_held_cents
  from {payments} p ${joinOrder('p')}
  where p._deleted_at is null and o.state <> 'invoice' group by o.tenant_id, o.shop_id`

/** The columns after the key, in query order; the instant comes last. */
const figures = [
  'stock_cents',
  'stock_items',
  'below_minimum',
  'work_in_progress',
  'work_in_progress_sales_cents',
  'open_estimates',
  'open_estimates_sales_cents',
  'receivables',
  'receivables_cents',
  'receivables_0_30_cents',
  'receivables_31_60_cents',
  'receivables_61_90_cents',
  'receivables_over_90_cents',
  'receivables_unknown',
  'to_collect_cents',
  'to_collect_over_30_cents',
  'to_collect_over_60_cents',
  'to_collect_over_90_cents',
  'credits_cents',
  'deposits_held_cents',
] as const

export const snapshotColumns = ['tenant_id', 'shop_id', 'day', ...figures, 'taken_at'] as const

/** One row for each shop that occurs in its own table or in any row; none of its values is null. */
export const snapshotQuery = (q: ViewWords): string => `
  select g.tenant_id, g.id as shop_id, g.day, ${figures.map((name) => `coalesce(${name}, 0) as ${name}`).join(', ')}, ${q.now} as taken_at
  from (select s.tenant_id, s.id, ${q.day(q.zone('s.tenant_id', 's.id'), q.now)} as day from (${q.ids('shops')}) s) g
  left join (${stock(q)}) i on i.tenant_id = g.tenant_id and i.shop_id = g.id
  left join (${work}) w on w.tenant_id = g.tenant_id and w.shop_id = g.id
  left join (${receivables(q)}) r on r.tenant_id = g.tenant_id and r.shop_id = g.id
  left join (${deposits}) e on e.tenant_id = g.tenant_id and e.shop_id = g.id
  where g.day is not null`
