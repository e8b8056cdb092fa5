/* Questions about invoices, and about the customers who came. One statement each, for all tenants at once. */
import { sql } from 'kysely'
import { countWhere, countWithout, type Subject, sumKnown, sumWhere } from './reportdays.js'

/** What each shop invoiced a month, from the month `from` on. */
export const askSales = ({ db, tenants, month }: Subject, from: string) =>
  db
    .selectFrom('daily_sales')
    .select(['tenant_id', 'tenant_name', 'shop_key', 'shop_name', month('day').as('month')])
    .select([
      sumKnown('invoices').as('invoices'),
      sumKnown('cars').as('cars'),
      sumKnown('labor_hours').as('hours'),
      sumKnown('sales_cents').as('sales'),
      sumKnown('gross_profit_cents').as('profit'),
      sumKnown('sales_where_profit_known_cents').as('sales_with_profit'),
      sumKnown('invoices_without_profit').as('without_profit'),
      sumKnown('total_cents').as('total'),
      sumKnown('invoices_without_total').as('without_total'),
    ])
    .where('day', '>=', `${from}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'tenant_name', 'shop_key', 'shop_name', month('day')])
    .execute()

/** What only single orders tell of a month. */
export const askOrders = ({ db, tenants, month }: Subject, from: string) =>
  db
    .selectFrom('orders')
    .select(['tenant_id', month('closed_on').as('month')])
    .select([
      sumKnown('rated_labor_hours').as('rated_hours'),
      sumKnown('labor_cents').as('labor'),
      sumKnown('labor_discount_cents').as('labor_discount'),
      sql<unknown>`count(distinct customer_id)`.as('customers'),
    ])
    .where('state', '=', 'invoice')
    .where('closed_on', '>=', `${from}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', month('closed_on')])
    .execute()

/** Customers by the month of their first visit, and by their standing. */
export const askCustomers = ({ db, tenants, month }: Subject) =>
  db
    .selectFrom('customer_value')
    .select(['tenant_id', 'standing', month('first_visit_on').as('first_month')])
    .select([sql<unknown>`count(*)`.as('customers'), sumKnown('sales_cents').as('sales')])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'standing', month('first_visit_on')])
    .execute()

/** The days of the first and the last invoice, by which the months of the report begin and end. */
export const askExtent = ({ db, tenants, day }: Subject) =>
  db
    .selectFrom('orders')
    .select(sql<string | null>`min(${day('closed_on')})`.as('first'))
    .where('state', '=', 'invoice')
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .executeTakeFirst()

export const askReceivables = ({ db, tenants }: Subject) =>
  db
    .selectFrom('receivables')
    .select(['tenant_id', 'bucket'])
    .select([
      countWhere(sql`balance_cents > 0`).as('owing'),
      sumWhere('balance_cents', sql`balance_cents > 0`).as('to_collect'),
      countWithout('balance_cents').as('unknown'),
      sumWhere('at_least_due_cents', sql`balance_cents is null`).as('at_least'),
      countWhere(sql`balance_cents < 0`).as('overpaid'),
      sumWhere('balance_cents', sql`balance_cents < 0`).as('credit'),
    ])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'bucket'])
    .execute()

export const askTotals = ({ db, tenants }: Subject) =>
  db
    .selectFrom('totals_check')
    .select('tenant_id')
    .select([
      sumKnown('invoices').as('invoices'),
      sumKnown('unpaid').as('unpaid'),
      sumKnown('total_unknown').as('unknown'),
      sumKnown('equal_to_the_cent').as('equal'),
      sumKnown('off_by_rounding').as('rounding'),
      sumKnown('off_by_more').as('more'),
    ])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy('tenant_id')
    .execute()

export const askPayments = ({ db, tenants }: Subject) =>
  db
    .selectFrom('payments_check')
    .select('tenant_id')
    .select([
      sumKnown('orders').as('orders'),
      sumKnown('differ').as('differ'),
      sumKnown('difference_cents').as('difference'),
    ])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy('tenant_id')
    .execute()
