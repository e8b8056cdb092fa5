import type { Kysely } from 'kysely'
import { id, json, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** What needs or needed attention, and who was notified. */
export const alertTables = {
  sync_alerts: define({
    doc: 'Incidents: what needs somebody, since when, and who was told.',
    after: 'sync_requests',
    key: ['tenant_id', 'resource', 'kind', 'since'],
    fields: {
      tenant_id: id('Tenant; 0: the whole run.'),
      resource: text('Resource; empty: all of the tenant, or of the run.'),
      kind: text(
        '`failed`, `unproven`, `stale`, `deletes_unchecked`, `revoked`, `drift`, `quarantine`, `events` or `behind_target` (docs/operations.md, Alerts).',
      ),
      since: timestamp('Since when it is so.'),
      cause: text('Why, as a short code; null where none is known.'),
      message: text('What was found.'),
      advice: text('What to do about it.'),
      run_id: text('The run that found it; null where none could begin, and where `listen` did.'),
      lasts: text(
        '`state`: as long as the cursor or tenant is in that state; `asked`: until a run has asked the API for it well; `reconcile`: until a reconcile or verify finds it well; `moment`: it is news, and never over.',
      ),
      opened_at: timestamp('When it was found.'),
      resolved_at: timestamp('When it was found to be over; null while it is not.'),
      told: json('By rule, a digest of whom it tells: when it was told of the beginning and of the end.'),
    },
  }),
} as const

/** The database with this table. */
export const withAlerts = (db: Db): Kysely<Database & RowsOf<typeof alertTables>> =>
  db.withTables<RowsOf<typeof alertTables>>()
