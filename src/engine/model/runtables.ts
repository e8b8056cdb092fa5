/* The tables about runs: the runs themselves, their cursors, and the requests that fetched rows. Part of state.ts. */
import { id, integer, json, text, timestamp } from '../../../schema/resource.js'
import { define } from './statetable.js'

const cursor = { tenant_id: id('Tenant.'), resource: text('Resource.') }
const counts = {
  requests: integer('Requests sent, retries included.'),
  rows_upserted: integer('Warehouse rows written.'),
  rows_deleted: integer('Warehouse rows removed or marked deleted.'),
  quarantined: integer('Values, items and records put in quarantine.'),
}

export const runTables = {
  sync_runs: define({
    doc: 'One row per run.',
    key: ['run_id'],
    fields: {
      run_id: text('Id of the run.'),
      seq: integer(
        'Number of the run, in the order runs were recorded, because times may come from a wrong clock; null in runs of older versions.',
      ),
      job: text('Name of the job file; null if there was none.'),
      mode: text(
        "`sync`, `full`, `backfill`, `reconcile`, `job`, `whole` (what the shards of a job leave to it), or `events`: an hour of walks made due by events, which isn't a run of its own.",
      ),
      status: text('`running`, `ok`, `partial`, `failed`, or `interrupted`.'),
      started_at: timestamp('Start.'),
      finished_at: timestamp('End.'),
      stamped_until: timestamp(
        'Later than every `_synced_at` of its rows. These times never go back, even if the clock does; null in runs of older versions.',
      ),
      token: integer(
        "Fencing token of the run's lease. No later lease has the same one; null in runs of older versions.",
      ),
      rate_limited: integer('Responses with status 429.'),
      retries: integer('Requests that were retried.'),
      ...counts,
      shard: text('The part of the tenants that it worked on, such as `3/8`; null: the whole warehouse.'),
      planned_at: timestamp(
        'The instant for which a schedule started it: runs of one job and one such instant are a round; null if nobody planned it.',
      ),
      host: text('Host it ran on.'),
      pid: integer('Its process id.'),
      error: text('Why it stopped; null if it did not.'),
      reason: text(
        'A problem with the whole run, as a short code (docs/guarantees.md); null if there is none.',
      ),
    },
  }),
  sync_run_cursors: define({
    doc: 'One row per cursor (one list of one tenant), run and step, with the verdict on its completeness and the counts behind it.',
    key: ['tenant_id', 'resource', 'run_id', 'step'],
    fields: {
      ...cursor,
      run_id: text('The run.'),
      step: integer("Step of the job, from 1; 1 if the run wasn't a job."),
      mode: text('What the step did, as in sync_runs.mode; null if no job had several steps yet.'),
      status: text('`ok`, `failed`, `unavailable` or `skipped`.'),
      completeness: text('`proven`, `repaired`, `listed` or `unproven`.'),
      reason: text('Why, as a short code (docs/guarantees.md); null if nothing is odd.'),
      watermark: timestamp('Watermark after the run.'),
      started_at: timestamp('When the run started on this cursor.'),
      finished_at: timestamp('End.'),
      records: integer('API records read.'),
      records_changed: integer('Of these, new or changed; null in runs of older versions.'),
      ...counts,
      books: json('The numbers that the verdict rests on.'),
      error: text('Why it failed; null if it did not.'),
    },
    indexes: [['run_id']],
  }),
  sync_requests: define({
    doc: 'Requests that fetched stored rows, one row per request. Rows refer to it by `_synced_at`.',
    key: ['tenant_id', 'synced_at'],
    fields: {
      tenant_id: cursor.tenant_id,
      synced_at: timestamp('When it was sent: the `_synced_at` of the rows it fetched.'),
      resource: cursor.resource,
      run_id: text('The run; null if there was none.'),
      way: text('`walk`, `backfill`, `reconcile`, `lookup`, `webhook` or `replay`.'),
      page: integer('Page of the list; null for a record requested by id.'),
      request_id: text('X-Request-Id of the response.'),
      rows_written: integer('Rows it wrote.'),
      oldest: timestamp('The oldest and the newest updated_at of its records.'),
      newest: timestamp('See oldest.'),
    },
  }),
} as const
