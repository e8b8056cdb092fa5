import type { Kysely } from 'kysely'
import { id, integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

export const targetTables = {
  sync_delays: define({
    doc: 'How many changes met the freshness targets of the configuration (docs/scale.md), for tenants without targets of their own. Empty without targets.',
    after: 'sync_lateness',
    vouches: true,
    key: ['resource', 'hour'],
    fields: {
      resource: text('Resource.'),
      hour: timestamp('The hour the changes were stored in.'),
      met: integer('New and changed records stored within the target.'),
      missed: integer('Those stored later.'),
    },
  }),
  sync_tenant_delays: define({
    doc: 'How many changes met the targets of single tenants (`targets.tenants`). Empty without such targets.',
    vouches: true,
    key: ['tenant_id', 'resource', 'hour'],
    fields: {
      tenant_id: id('Tenant.'),
      resource: text('Resource.'),
      hour: timestamp('The hour the changes were stored in.'),
      met: integer("New and changed records stored within the tenant's target."),
      missed: integer('Those stored later.'),
    },
  }),
} as const

/** The database with these tables. */
export const withDelays = (db: Db): Kysely<Database & RowsOf<typeof targetTables>> =>
  db.withTables<RowsOf<typeof targetTables>>()
