import type { Kysely } from 'kysely'
import { field, id, integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** The tables behind the views for analysts, besides those of the resources. src/features/analytics fills them. */
export const analyticsTables = {
  report_calendar: define({
    doc: 'Internal: the days from 1990 to ten years from now. Use the view dim_days.',
    after: 'sync_alerts',
    key: ['day_number'],
    fields: {
      day_number: integer('Days since 1970-01-01. Subtract two to get the days between them.'),
      day: field('day', 'The day.'),
      month: field('day', 'The first day of its month.'),
      weekday: integer('1 for Monday to 7 for Sunday.'),
    },
    indexes: [['day']],
  }),
  report_clocks: define({
    doc: 'Internal: how far clocks are ahead of UTC in each time zone in use, from 1990 to ten years from now. Rows begin with each month of UTC, for joins by equality, and when the clocks change. The last row of a zone marks the end of its last day.',
    key: ['zone', 'utc_month', 'from_at'],
    fields: {
      zone: text('Time zone, as an IANA name; empty for that of shops without a row in report_zones.'),
      utc_month: text('The month in UTC, as YYYY-MM: the first seven characters of an instant.'),
      from_at: timestamp('Since when, in UTC.'),
      to_at: timestamp('Until when; null in the last row.'),
      clock_minutes: integer('Minutes by which clocks are ahead of UTC; null in the last row.'),
      day_minutes: integer(
        'The same for the day: more where clocks go back over midnight, since the day that has begun goes on; null in the last row.',
      ),
      change: integer(
        '1 where the minutes differ from those before, and in the last row of a zone; otherwise null.',
      ),
    },
    indexes: [['change', 'zone', 'from_at']],
  }),
  report_zones: define({
    doc: 'The time zone of each shop. Tenant 0, shop 0 is for every shop without a row.',
    key: ['tenant_id', 'shop_id'],
    fields: {
      tenant_id: id('Tenant.'),
      shop_id: id('Shop.'),
      zone: text('Time zone, as an IANA name.'),
      origin: text(
        '`configuration` (report.shopTimeZones), `shop` (its own time_zone) or `default` (report.timeZone).',
      ),
    },
  }),
  report_tenants: define({
    doc: 'Names of tenants, from report.tenantNames.',
    key: ['tenant_id'],
    fields: { tenant_id: id('Tenant.'), name: text('Its name.') },
  }),
} as const

export const withAnalytics = (db: Db): Kysely<Database & RowsOf<typeof analyticsTables>> =>
  db.withTables<RowsOf<typeof analyticsTables>>()
