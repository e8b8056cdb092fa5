import type { Kysely } from 'kysely'
import { field, id, integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** The tables behind the views for analysts, besides those of the resources. src/features/analytics fills them. */
export const analyticsTables = {
  report_days: define({
    doc: 'When each day begins in each time zone in use, from 1990 to ten years from now. The last row of a zone has no day and marks the end of the last day.',
    after: 'sync_alerts',
    key: ['zone', 'from_at'],
    fields: {
      zone: text('Time zone, as an IANA name. UTC is always there.'),
      from_at: timestamp('When the day begins there, in UTC.'),
      day: field('day', 'The day; null after the last one.'),
      month: field('day', 'The first day of its month.'),
      day_number: integer('Days since 1970-01-01. Subtract two to get the days between them.'),
      weekday: integer('1 for Monday to 7 for Sunday.'),
      stretch: integer(
        '1 on the first day of a stretch of consecutive days that each last 24 hours, and in the last row of a zone; otherwise null.',
      ),
    },
    indexes: [
      ['zone', 'day'],
      ['zone', 'day_number'],
      ['stretch', 'zone', 'from_at'],
    ],
  }),
  report_utc_days: define({
    doc: "The day in each time zone in use at each instant, by UTC day, for joins by equality: of the few rows of a zone and an instant's UTC day, the instant is between `from_at` and `to_at` in one. On Postgres, whose views search, only what clocks show: one row for each time in which they run evenly.",
    key: ['zone', 'utc_day', 'from_at'],
    fields: {
      zone: text('Time zone, as an IANA name.'),
      utc_day: text(
        'A UTC day that the day is part of, as YYYY-MM-DD: the first ten characters of an instant.',
      ),
      from_at: timestamp('When the day begins there, in UTC, or the clocks have changed within it.'),
      to_at: timestamp('When it ends: the next day begins, or the clocks change.'),
      day: field('day', 'The day.'),
      local_at: text(
        'What the clocks show at `from_at`, YYYY-MM-DD HH:MM:SS; null if they show midnight of the day.',
      ),
    },
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

/** The database with these tables. */
export const withAnalytics = (db: Db): Kysely<Database & RowsOf<typeof analyticsTables>> =>
  db.withTables<RowsOf<typeof analyticsTables>>()
