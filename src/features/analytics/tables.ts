import type { Kysely } from 'kysely'
import { field, id, integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** The tables that the views for analysts rest on, beside those of the resources. src/features/analytics fills them. */
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
    },
    indexes: [['zone', 'day']],
  }),
  report_stretches: define({
    doc: 'The same in short: stretches of time over which no clock changes. The last row of a zone has no day, and ends the last stretch.',
    key: ['zone', 'from_at'],
    fields: {
      zone: text('Time zone, by its IANA name.'),
      from_at: timestamp('The instant at which the stretch begins.'),
      first_day: field(
        'day',
        'The day of the 24 hours from then on; each 24 hours after them are the next one.',
      ),
    },
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

/** The database with these tables. */
export const withAnalytics = (db: Db): Kysely<Database & RowsOf<typeof analyticsTables>> =>
  db.withTables<RowsOf<typeof analyticsTables>>()
