import type { Kysely } from 'kysely'
import { integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

export const targetTables = {
  sync_delays: define({
    doc: 'Which changes were in the warehouse within the targets of the configuration (docs/freshness.md); without targets, nothing is counted.',
    after: 'sync_lateness',
    vouches: true,
    key: ['resource', 'hour'],
    fields: {
      resource: text('Resource.'),
      hour: timestamp('The hour in which the changes were stored.'),
      met: integer('New and changed records that came within the target.'),
      missed: integer('Those that came later.'),
    },
  }),
} as const

/** The database with this table. */
export const withDelays = (db: Db): Kysely<Database & RowsOf<typeof targetTables>> =>
  db.withTables<RowsOf<typeof targetTables>>()
