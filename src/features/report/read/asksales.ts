/*
 * Queries about shops, customers and receivables that no declared figure answers. One statement each, for all tenants
 * at once.
 */
import { sql } from 'kysely'
import { countWhere, type Subject, sumKnown, sumWhere } from './reportdays.js'

/** The day of the first invoice, where the report's months begin. */
export const askExtent = ({ db, tenants, day }: Subject) =>
  db
    .selectFrom('orders')
    .select(sql<string | null>`min(${day('closed_on')})`.as('first'))
    .where('state', '=', 'invoice')
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .executeTakeFirst()

/** Every shop that appears in its own table or in any row. */
export const askShops = ({ db, tenants, day }: Subject) =>
  db
    .selectFrom('dim_shops')
    .select(['tenant_id', 'tenant_name', 'shop_key', 'shop_name', day('first_day').as('first_day')])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .orderBy('shop_key')
    .execute()

/** Customers by their standing. */
export const askCustomers = ({ db, tenants }: Subject) =>
  db
    .selectFrom('customer_value')
    .select(['tenant_id', 'standing'])
    .select([sql<unknown>`count(*)`.as('customers'), sumKnown('sales_cents').as('sales')])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'standing'])
    .execute()

/** How many invoices are behind the receivables, and the least that is owed where a total is unknown. */
export const askReceivables = ({ db, tenants }: Subject) =>
  db
    .selectFrom('receivables')
    .select(['tenant_id', 'shop_key', 'bucket'])
    .select([
      countWhere(sql`balance_cents > 0`).as('owing'),
      sumWhere('at_least_due_cents', sql`balance_cents is null`).as('at_least'),
      countWhere(sql`balance_cents < 0`).as('overpaid'),
    ])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'shop_key', 'bucket'])
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
