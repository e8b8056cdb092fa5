/* The tables about runs: the runs themselves, their cursors, and the requests that fetched rows. Part of state.ts. */
import { id, integer, json, text, timestamp } from '../../../schema/resource.js'
import { define } from './statetable.js'

const cursor = { tenant_id: id('Tenant.'), resource: text('Resource.') }
const counts = {
  requests: integer('Requests sent, retries included.'),
  rows_upserted: integer('Warehouse rows written.'),
  rows_deleted: integer('Warehouse rows removed or marked deleted.'),
  quarantined: integer('Values, items and records that went to quarantine.'),
}

export const runTables = {
  sync_runs: define({
    doc: 'One row a run.',
    key: ['run_id'],
    fields: {
      run_id: text('Id of the run.'),
      seq: integer(
        'Number of the run, in the order in which runs were recorded: times may come from a clock that was wrong. null in runs of older versions.',
      ),
      job: text('Name of the job file, or null.'),
      mode: text(
        '`sync`, `full`, `backfill`, `reconcile`, `job`, or `events`: what events rang within an hour, which is no run of its own.',
      ),
      status: text('`running`, `ok`, `partial`, `failed`, or `interrupted`.'),
      started_at: timestamp('Start.'),
      finished_at: timestamp('End.'),
      stamped_until: timestamp(
        'Later than every `_synced_at` of its rows. Stamps never go back, even where the clock does; null in runs of older versions.',
      ),
      rate_limited: integer('Answers with status 429.'),
      retries: integer('Requests that were repeated.'),
      ...counts,
      host: text('Where it ran.'),
      pid: integer('Its process.'),
      error: text('Why it stopped; null when it did not.'),
      reason: text(
        'What concerns the whole run, as a short code (docs/guarantees.md); null where nothing does.',
      ),
    },
  }),
  sync_run_cursors: define({
    doc: 'One row a cursor, run and step, with its completeness verdict and the books that it rests on.',
    key: ['tenant_id', 'resource', 'run_id', 'step'],
    grown: { column: 'step', value: 1 },
    fields: {
      ...cursor,
      run_id: text('The run.'),
      step: integer('Step of the job, from 1; 1 where the run was no job.'),
      mode: text('What the step did, as sync_runs.mode; null where no job had several steps yet.'),
      status: text('`ok`, `failed`, `unavailable` or `skipped`.'),
      completeness: text('`proven`, `repaired`, `listed` or `unproven`.'),
      reason: text('Why, as a short code (docs/guarantees.md); null where nothing is odd.'),
      watermark: timestamp('Watermark after the run.'),
      started_at: timestamp('Start of this cursor in the run.'),
      finished_at: timestamp('End.'),
      records: integer('API records read.'),
      records_changed: integer('Of these, new or other than before; null in runs of older versions.'),
      ...counts,
      books: json('The numbers that the verdict rests on.'),
      error: text('Why it failed; null when it did not.'),
    },
    indexes: [['run_id']],
  }),
  sync_requests: define({
    doc: 'The requests that brought rows: one row for each that wrote anything. Rows refer to it by `_synced_at`.',
    key: ['tenant_id', 'synced_at'],
    fields: {
      tenant_id: cursor.tenant_id,
      synced_at: timestamp('When it was sent; `_synced_at` of the rows that it brought.'),
      resource: cursor.resource,
      run_id: text('The run; null where there was none.'),
      way: text('`walk`, `backfill`, `reconcile`, `lookup`, `webhook` or `replay`.'),
      page: integer('Page of the list; null for a record that was asked for by its id.'),
      request_id: text('X-Request-Id of the answer.'),
      rows_written: integer('Rows that it wrote.'),
      oldest: timestamp('The oldest and the newest updated_at of its records.'),
      newest: timestamp('See oldest.'),
    },
  }),
} as const
