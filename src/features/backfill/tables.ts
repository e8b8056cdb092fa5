import type { Kysely } from 'kysely'
import { id, json, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** Where interrupted backfills continue. Read and written by sql.ts. */
export const backfillTables = {
  sync_backfills: define({
    doc: 'Progress of unfinished backfills, kept for a week after the last progress; empty if there are none.',
    vouches: true,
    after: 'sync_walk_parts',
    key: ['tenant_id', 'resource', 'from_at', 'to_at'],
    fields: {
      tenant_id: id('Tenant.'),
      resource: text('Resource.'),
      from_at: timestamp('Beginning of the range.'),
      to_at: timestamp('End of the range, exclusive.'),
      boundary: timestamp('Everything in the range newer than this is stored.'),
      run_id: text('The run that last worked on it.'),
      outcome: json(
        'What was read, and what the verdict rests on; null until the range was read to its end.',
      ),
      progress_at: timestamp('Time of the last progress.'),
    },
  }),
} as const

export const withBackfills = (db: Db): Kysely<Database & RowsOf<typeof backfillTables>> =>
  db.withTables<RowsOf<typeof backfillTables>>()
