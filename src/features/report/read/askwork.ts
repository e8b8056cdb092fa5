/*
 * Queries about work that no declared figure answers: how long it took, what waits, and the outcome of recommendations.
 */
import { sql } from 'kysely'
import { countWhere, countWithout, type Subject, sumKnown } from './reportdays.js'

export const askRecommendations = ({ db, tenants, month }: Subject, from: string) =>
  db
    .selectFrom('recommendation_conversion')
    .select(['tenant_id', 'shop_key', 'decision', month('recommended_on').as('month')])
    .select([
      sql<unknown>`count(*)`.as('all'),
      countWhere(sql`sold_later`).as('sold_later'),
      sumKnown('value_cents').as('value'),
      countWithout('value_cents').as('without'),
    ])
    .where('recommended_on', '>=', `${from}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'shop_key', 'decision', month('recommended_on')])
    .execute()

/** Recommendations since a day that nobody has decided on and that were not sold later. */
export const askUndecided = ({ db, tenants }: Subject, since: string) =>
  db
    .selectFrom('recommendation_conversion')
    .select(['tenant_id', 'shop_key'])
    .select([
      sql<unknown>`count(*)`.as('all'),
      sumKnown('value_cents').as('value'),
      countWithout('value_cents').as('without'),
    ])
    .where('decision', '=', 'undecided')
    .where(sql<boolean>`not coalesce(sold_later, false)`)
    .where('recommended_on', '>=', since)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'shop_key'])
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

export const askCycles = ({ db, tenants, month }: Subject, from: string) =>
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

/** Estimates, and orders in progress past their promised time. */
export const askLate = ({ db, tenants }: Subject) =>
  db
    .selectFrom('work_in_progress')
    .select(['tenant_id', 'shop_key'])
    .select([sql<unknown>`count(*)`.as('orders'), sumKnown('sales_cents').as('sales')])
    .where(sql<boolean>`is_late`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'shop_key'])
    .execute()

/** How many orders a list shows with number and name. */
const listed = 5

/** `shop`: the key of one shop; undefined: all. */
export const askLateOrders = ({ db, tenants }: Subject, shop?: string) =>
  db
    .selectFrom('work_in_progress')
    .select(['number', 'shop_name', 'customer_name', 'minutes_open', 'sales_cents'])
    .where(sql<boolean>`is_late`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .$if(shop !== undefined, (query) => query.where('shop_key', '=', shop ?? ''))
    .orderBy('minutes_open', 'desc')
    .orderBy('repair_order_key')
    .limit(listed)
    .execute()

export const askOverdueOrders = ({ db, tenants }: Subject, shop?: string) =>
  db
    .selectFrom('receivables')
    .select(['number', 'shop_name', 'customer_name', 'days', 'balance_cents'])
    .where('days', '>', 30)
    .where('balance_cents', '>', 0)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .$if(shop !== undefined, (query) => query.where('shop_key', '=', shop ?? ''))
    .orderBy('balance_cents', 'desc')
    .orderBy('repair_order_key')
    .limit(listed)
    .execute()
