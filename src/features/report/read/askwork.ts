/* Questions about work: who did it, how long it took, what waits, and what parts and recommendations brought. */
import { sql } from 'kysely'
import { countWhere, countWithout, type Subject, sumKnown, sumWhere } from './reportdays.js'

/** Hours from one month up to another, which does not belong to it. */
export const askTechnicians = ({ db, tenants, month }: Subject, from: string, to: string) =>
  db
    .selectFrom('technician_hours')
    .select(['tenant_id', 'technician_key', 'technician_name', month('day').as('month')])
    .select([sumKnown('sold_hours').as('hours'), sumKnown('invoices').as('invoices')])
    .where('day', '>=', `${from}-01`)
    .where('day', '<', `${to}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'technician_key', 'technician_name', month('day')])
    .execute()

export const askMargins = ({ db, tenants }: Subject, from: string, to: string) =>
  db
    .selectFrom('parts_margin')
    .select(['tenant_id', 'cost_band'])
    .select([
      sql<unknown>`count(*)`.as('parts'),
      sumWhere('sold_cents', sql`margin_cents is not null`).as('sold'),
      sumWhere('cost_cents', sql`margin_cents is not null`).as('cost'),
      sumKnown('margin_cents').as('margin'),
      countWithout('margin_cents').as('without'),
    ])
    .where('day', '>=', `${from}-01`)
    .where('day', '<', `${to}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'cost_band'])
    .execute()

export const askRecommendations = ({ db, tenants, month }: Subject, from: string) =>
  db
    .selectFrom('recommendation_conversion')
    .select(['tenant_id', 'decision', month('recommended_on').as('month')])
    .select([
      sql<unknown>`count(*)`.as('all'),
      countWhere(sql`sold_later`).as('sold_later'),
      sumKnown('value_cents').as('value'),
      countWithout('value_cents').as('without'),
    ])
    .where('recommended_on', '>=', `${from}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', 'decision', month('recommended_on')])
    .execute()

/** Recommendations since a day about which nobody has decided, and which were not sold later. */
export const askUndecided = ({ db, tenants }: Subject, since: string) =>
  db
    .selectFrom('recommendation_conversion')
    .select('tenant_id')
    .select([
      sql<unknown>`count(*)`.as('all'),
      sumKnown('value_cents').as('value'),
      countWithout('value_cents').as('without'),
    ])
    .where('decision', '=', 'undecided')
    .where(sql<boolean>`not coalesce(sold_later, false)`)
    .where('recommended_on', '>=', since)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy('tenant_id')
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
    .select(['tenant_id', month('closed_on').as('month')])
    .select([
      countWhere(inBand(0)).as('band0'),
      countWhere(inBand(1)).as('band1'),
      countWhere(inBand(2)).as('band2'),
      countWhere(inBand(3)).as('band3'),
      countWhere(inBand(4)).as('band4'),
      countWithout('minutes_in_all').as('unknown'),
      countWhere(sql`is_late`).as('late'),
      sql<unknown>`count(is_late)`.as('due'),
    ])
    .where('state', '=', 'invoice')
    .where('closed_on', '>=', `${from}-01`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['tenant_id', month('closed_on')])
    .execute()

export const askOpen = ({ db, tenants }: Subject) =>
  db
    .selectFrom('work_in_progress')
    .select('tenant_id')
    .select([
      sql<unknown>`count(*)`.as('orders'),
      sumKnown('sales_cents').as('sales'),
      countWhere(sql`is_late`).as('late'),
      sumWhere('sales_cents', sql`is_late`).as('late_sales'),
    ])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy('tenant_id')
    .execute()

/** Orders that a list shows: the first ones are told by number and name. */
const listed = 5

export const askLateOrders = ({ db, tenants }: Subject) =>
  db
    .selectFrom('work_in_progress')
    .select(['number', 'shop_name', 'customer_name', 'minutes_open', 'sales_cents'])
    .where(sql<boolean>`is_late`)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .orderBy('minutes_open', 'desc')
    .orderBy('repair_order_key')
    .limit(listed)
    .execute()

export const askOverdueOrders = ({ db, tenants }: Subject) =>
  db
    .selectFrom('receivables')
    .select(['number', 'shop_name', 'customer_name', 'days', 'balance_cents'])
    .where('days', '>', 30)
    .where('balance_cents', '>', 0)
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .orderBy('balance_cents', 'desc')
    .orderBy('repair_order_key')
    .limit(listed)
    .execute()
