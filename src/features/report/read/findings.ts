/*
 * Queries about shops, customers, receivables and work that no declared figure answers: one statement each, for all
 * tenants at once. fold.ts turns their rows, by tenant and shop, into the report's scopes.
 */

import { sql } from 'kysely'
import { groupedBy } from '../../../engine/base/parts.js'
import type { ListsFound } from './asktrust.js'
import { countWhere, countWithout, type Subject, sumKnown, sumWhere } from './reportdays.js'

export async function findingsOf(
  subject: Subject,
  { lists, unread }: ListsFound,
  shops: Awaited<ReturnType<typeof askShops>>,
  /** The first month of the report. */
  from: string,
) {
  const [customers, receivables, totals, payments] = await Promise.all([
    askCustomers(subject),
    askReceivables(subject),
    askTotals(subject),
    askPayments(subject),
  ])
  const [recommendations, cycles] = await Promise.all([
    askRecommendations(subject, from),
    askCycles(subject, from),
  ])
  const ofMoney = { customers, receivables, totals, payments }
  return { shops, lists, unread, ...ofMoney, recommendations, cycles }
}

export type Findings = Awaited<ReturnType<typeof findingsOf>>

/** The part of all findings that a scope covers. A row without a shop belongs to its tenant. */
export interface Part {
  readonly tenant?: string
  readonly shop?: string
}

interface Located {
  readonly tenant_id: unknown
  readonly shop_key?: string | null | undefined
}

export const isOf = ({ tenant, shop }: Part, row: Located): boolean =>
  (tenant === undefined || String(row.tenant_id) === tenant) &&
  (shop === undefined || row.shop_key === undefined || row.shop_key === shop)

/** What belongs to a part. What is only known per tenant is kept in full for its shops. */
export function partOf(findings: Findings, part: Part): Findings {
  const kept = Object.entries(findings).map(([name, rows]) => [
    name,
    (rows as readonly Located[]).filter((row) => isOf(part, row)),
  ])
  return Object.fromEntries(kept) as Findings
}

const none: Findings = {
  shops: [],
  lists: [],
  unread: [],
  customers: [],
  receivables: [],
  totals: [],
  payments: [],
  recommendations: [],
  cycles: [],
}

/** The findings of each tenant, in one pass: there may be hundreds of tenants. */
export function byTenant(findings: Findings): Map<string, Findings> {
  const tenants = new Map<string, Findings>()
  for (const name of Object.keys(none) as (keyof Findings)[]) {
    const groups = groupedBy<{ tenant_id: unknown }, string>(findings[name], (row) => String(row.tenant_id))
    for (const [tenant, rows] of groups)
      tenants.set(tenant, { ...(tenants.get(tenant) ?? none), [name]: rows })
  }
  return tenants
}

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
    .select(['tenant_id', 'tenant_name', 'shop_key', 'shop_name', 'time_zone'])
    .select(day('first_day').as('first_day'))
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .orderBy('shop_key')
    .execute()

/** Customers by their standing. */
const askCustomers = ({ db, tenants }: Subject) =>
  db
    .selectFrom('customer_value')
    .select(['tenant_id', 'standing'])
    .select([sql<unknown>`count(*)`.as('customers'), sumKnown('sales_cents').as('sales')])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'standing'])
    .execute()

/** How many invoices are behind the receivables, and the least that is owed where a total is unknown. */
const askReceivables = ({ db, tenants }: Subject) =>
  db
    .selectFrom('receivables')
    .select(['tenant_id', 'shop_key', 'bucket'])
    .select([
      countWhere(sql`balance_cents > 0`).as('owing'),
      countWhere(sql`balance_cents is null and is_owed`).as('owing_unknown'),
      sumWhere('at_least_due_cents', sql`balance_cents is null`).as('at_least'),
      countWhere(sql`balance_cents < 0`).as('overpaid'),
    ])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'shop_key', 'bucket'])
    .execute()

const askTotals = ({ db, tenants }: Subject) =>
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

const askPayments = ({ db, tenants }: Subject) =>
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

/** The three that the close rate counts are apart from each other, and from what is left. */
const isSoldAtOnce = sql`(decision = 'approved' or coalesce(imported, false))`
const isLeft = sql`not (${isSoldAtOnce} or sold_later)`

const askRecommendations = ({ db, tenants, month }: Subject, from: string) =>
  db
    .selectFrom('recommendation_conversion')
    .select(['tenant_id', 'shop_key', month('recommended_on').as('month')])
    .select([
      countWhere(sql`${isSoldAtOnce} and not is_approved_unsold`).as('sold_at_once'),
      countWhere(sql`${isSoldAtOnce} and is_approved_unsold`).as('unsold'),
      countWhere(sql`sold_later and not ${isSoldAtOnce}`).as('sold_later'),
      countWhere(sql`decision = 'undecided' and ${isLeft}`).as('undecided'),
      countWhere(sql`decision = 'declined' and ${isLeft}`).as('declined'),
      sumKnown('value_cents').as('value'),
      countWithout('value_cents').as('without'),
    ])
    .where('recommended_on', '>=', `${from}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'shop_key', month('recommended_on')])
    .execute()

/** The ends of `cycleBands`, in minutes. */
const bandEnds = [480, 1440, 4320, 10_080] as const

const inBand = (band: number) => {
  const from = bandEnds[band - 1] ?? -1
  const to = bandEnds[band]
  return to === undefined
    ? sql`minutes_in_all > ${sql.lit(from)}`
    : sql`minutes_in_all > ${sql.lit(from)} and minutes_in_all <= ${sql.lit(to)}`
}

const askCycles = ({ db, tenants, month }: Subject, from: string) =>
  db
    .selectFrom('cycle_times')
    .select(['tenant_id', 'shop_key', month('closed_on').as('month')])
    .select([
      countWhere(inBand(0)).as('band0'),
      countWhere(inBand(1)).as('band1'),
      countWhere(inBand(2)).as('band2'),
      countWhere(inBand(3)).as('band3'),
      countWhere(inBand(4)).as('band4'),
      countWithout('minutes_in_all').as('unknown'),
    ])
    .where('state', '=', 'invoice')
    .where('closed_on', '>=', `${from}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'shop_key', month('closed_on')])
    .execute()
