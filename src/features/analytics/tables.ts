import { field, id, integer, text, timestamp } from '../../../schema/resource.js'
import { define } from '../../engine/model/statetable.js'

/** The tables that the views for analysts rest on, beside those of the resources. src/features/analytics fills them. */
export const reportTables = {
  report_days: define({
    doc: 'When each day begins in each time zone in use, from 1990 to ten years from now; the last row of a zone has no day, and ends the last one.',
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
  sync_derived: define({
    doc: 'With which rule and which settings the derived tables of each tenant were computed: when either changes, they are computed anew.',
    key: ['tenant_id', 'name'],
    fields: {
      tenant_id: id('Tenant.'),
      name: text('The derived table.'),
      version: integer('Version of the rule.'),
      settings: text('The settings that the rule used, as JSON.'),
      done_to: id('While rows are computed anew: the last record that is done; null before the first.'),
      records: integer('Records whose rows were computed anew; 0 where all came with their records.'),
      finished_at: timestamp(
        'When all rows were of this rule and these settings; null while they are computed anew.',
      ),
    },
  }),
} as const
