import type { Kysely } from 'kysely'
import { id, json, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** What needs or needed attention, and who was notified. */
export const alertTables = {
  sync_alerts: define({
    doc: 'Incidents: what needs attention, since when, and who was notified.',
    after: 'sync_requests',
    key: ['tenant_id', 'resource', 'kind', 'since'],
    fields: {
      tenant_id: id('The tenant; 0 for the whole run.'),
      resource: text('The resource; empty for the whole tenant or run.'),
      kind: text(
        '`failed`, `unproven`, `stale`, `deletes_unchecked`, `revoked`, `drift`, `quarantine`, `events`, `behind_target`, `quiet` or `workers` (docs/operations.md, Alerts).',
      ),
      since: timestamp('Since when.'),
      shard: text('The shard whose run it concerns, such as `3/8`; null: no shard.'),
      cause: text('Why, as a short code; null if unknown.'),
      message: text('What was found.'),
      advice: text('What to do about it.'),
      run_id: text('The run that found it; null if no run could start, or if `listen` found it.'),
      lasts: text(
        'When it ends. `state`: when the cursor or tenant leaves that state. `asked`: when a run queries the API for it successfully. `reconcile`: when a reconcile or verify finds nothing wrong. `run`: it was over when it was found, since the run that found it made it right. `moment`: it is news and never ends.',
      ),
      opened_at: timestamp('When it was found.'),
      resolved_at: timestamp('When it was found to be over; null while it is open.'),
      told: json('By rule (a digest of its recipients): when it notified them of the start and the end.'),
    },
  }),
} as const

export const withAlerts = (db: Db): Kysely<Database & RowsOf<typeof alertTables>> =>
  db.withTables<RowsOf<typeof alertTables>>()
