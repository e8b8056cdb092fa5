import type { Kysely } from 'kysely'
import { field, id, integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** The tables behind the views for analysts, besides those of the resources. src/features/analytics fills them. */
export const analyticsTables = {
  report_days: define({
    doc: 'When each day begins in each time zone in use, from 1990 to ten years from now; the last row of a zone has no day, and ends the last one.',
    after: 'sync_alerts',
    key: ['zone', 'from_at'],
    fields: {
      zone: text('Time zone, by its IANA name. UTC is always there.'),
      from_at: timestamp('The instant at which the day begins there.'),
      day: field('day', 'The day; null after the last one.'),
      month: field('day', 'The first day of its month.'),
      day_number: integer('Days since 1970-01-01: the difference of two is their distance in days.'),
      weekday: integer('1 Monday to 7 Sunday.'),
      stretch: integer(
        '1 on the first day of a stretch in which each day is the next one and begins 24 hours later, and in the last row of a zone; else null.',
      ),
    },
    indexes: [
      ['zone', 'day'],
      ['stretch', 'zone', 'from_at'],
    ],
  }),
  report_zones: define({
    doc: 'The time zone of each shop. Tenant 0 and shop 0: of every shop that has no row.',
    key: ['tenant_id', 'shop_id'],
    fields: {
      tenant_id: id('Tenant.'),
      shop_id: id('Shop.'),
      zone: text('Time zone, by its IANA name.'),
      origin: text(
        '`configuration` (report.shopTimeZones), `shop` (its own time_zone) or `default` (report.timeZone).',
      ),
    },
  }),
  report_tenants: define({
    doc: 'Names of tenants, as report.tenantNames says.',
    key: ['tenant_id'],
    fields: { tenant_id: id('Tenant.'), name: text('Its name.') },
  }),
} as const

/**
 * Earlier versions stored the stretches in a table of their own, with the same information as the days. `first_day`:
 * the day that begins with the stretch; or the previous day again, if it was longer than 24 hours.
 */
type FormerTables = {
  readonly report_stretches: {
    readonly zone: string
    readonly from_at: string
    readonly first_day: string | null
  }
}

export const formerStretches = 'report_stretches'

export const withFormer = (db: Db): Kysely<Database & RowsOf<typeof analyticsTables> & FormerTables> =>
  db.withTables<RowsOf<typeof analyticsTables> & FormerTables>()

/** The database with these tables. */
export const withAnalytics = (db: Db): Kysely<Database & RowsOf<typeof analyticsTables>> =>
  db.withTables<RowsOf<typeof analyticsTables>>()
