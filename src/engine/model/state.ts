import { boolean, id, integer, json, number, text, timestamp } from '../../../schema/resource.js'
import { arrange } from '../base/arrange.js'
import { define, type RowsOf, type StateTable, type StateTables } from './statetable.js'
import type { Table } from './table.js'

const cursor = { tenant_id: id('Tenant.'), resource: text('Resource.') }
const counts = {
  requests: integer('Requests sent, retries included.'),
  rows_upserted: integer('Warehouse rows written.'),
  rows_deleted: integer('Warehouse rows removed or marked deleted.'),
  quarantined: integer('Values, items and records put in quarantine.'),
}

/**
 * The engine's own tables, which BI tools may read: the warehouse writes them, the data dictionary describes them.
 * Features have their own tables in addition.
 */
export const stateTables = {
  tenants: define({
    doc: 'Tenants that grant access, and those that did in the past. From the API documentation, Resources: Authorization.',
    key: ['tenant_id'],
    fields: {
      tenant_id: id('Tenant.'),
      authorization_id: id('Id of the authorization.'),
      api_partner_id: id('Identifier of the API partner.'),
      api_tenant_id: id('Identifier of the API tenant.'),
      writable: boolean('true if write actions are enabled for this authorization.'),
      revoked_at: timestamp('When shopsync found that access was revoked. The rows are kept.'),
      _synced_at: timestamp('When the request that fetched this version was sent.'),
      _extra: json("Fields the API sent that aren't in its documentation."),
      rebuild_from: timestamp(
        'Copies of this tenant made by an earlier `through` must be made again (docs/increments.md): its rows have changed or gone without a stamp of their own. null in rows of older versions: never since.',
      ),
    },
  }),
  sync_forgotten: define({
    doc: 'Forgotten tenants. Runs skip them, granted or not, until `shopsync forget --tenant ID --lift`.',
    vouches: true,
    key: ['tenant_id'],
    fields: {
      tenant_id: id('Tenant.'),
      forgotten_at: timestamp('When it was forgotten.'),
    },
  }),
  sync_forgotten_records: define({
    doc: 'Forgotten customers, and the records that were forgotten with them. They are stored without what says something about a person, until `shopsync forget --customer ID --lift`.',
    vouches: true,
    key: ['tenant_id', 'resource', 'record_id'],
    indexes: [['tenant_id', 'owner_id']],
    fields: {
      tenant_id: id('Tenant.'),
      resource: text('Resource.'),
      record_id: id('Id of the record.'),
      owner_id: id('Id of the customer with whom it was forgotten.'),
      state: text(
        '`hidden`: it is stored without personal values. `expected`: the same, but it has never been stored, so nobody knows yet whom it names. `kept`: it is stored whole, since it belongs to other customers too. `wanted`: it belongs to another customer by now, and is requested by id.',
      ),
      since: timestamp('When it got here.'),
      receipt: json(
        'For the customer: when the work began and was done, rows by table, what was kept and what is left; null for other records.',
      ),
    },
  }),
  sync_cursors: define({
    doc: 'The progress of each cursor: one resource of one tenant.',
    vouches: true,
    key: ['tenant_id', 'resource'],
    fields: {
      ...cursor,
      watermark: timestamp('Every record whose updated_at is at or before it is in the warehouse.'),
      planned_watermark: timestamp(
        'The watermark of the last walk that no event rang. The next one starts there, minus the overlap; rings move only `watermark`.',
      ),
      status: text('`ok`, `failed`, `unavailable` or `skipped` after the last run.'),
      completeness: text('Verdict of the last walk: `proven`, `repaired`, `listed` or `unproven`.'),
      reason: text(
        'Why the verdict is not `proven`, or what is odd about the source, as a short code (docs/guarantees.md); null if nothing is odd.',
      ),
      last_success_at: timestamp('End of the last walk that was complete.'),
      last_error: text('Why the last run of this cursor failed; null if it did not.'),
      last_run_id: text('The last run that worked on it.'),
      walk: json('What an unfinished walk needs to resume; null if there is none.'),
      remembered: json(
        'What is odd about the list (docs/guarantees.md, Premises): records never shown, holes, positions shown twice, a wrong order or total; null if nothing is.',
      ),
      stamps_ahead: integer(
        "Records whose updated_at was a minute or more ahead of the source's clock when the last walk read them; null if there are none.",
      ),
      stamps_ahead_until: timestamp('The newest of their updated_at. Each run reads them again until then.'),
      walked_at: timestamp(
        "When the last proven or repaired walk that no event rang began, by the source's clock. A record found later with an earlier updated_at is late by the difference.",
      ),
      complete_through: timestamp(
        'Every creation and update up to then is in the warehouse, unless it became visible later than any in the last 30 days.',
      ),
      complete_through_before: timestamp(
        'The value of complete_through before a late record set it back; null once it has caught up.',
      ),
      deletes_checked_at: timestamp(
        'Every deletion up to this time is in the warehouse: the start of the last reconcile that found or made the cursor match, or of its first load.',
      ),
      polled_at: timestamp(
        'When the last finished walk of any kind began (docs/scale.md); null before the first.',
      ),
      news: number(
        'New and changed records found by polls, at most 20 per poll. A week-old count weighs a third.',
      ),
      news_unannounced: number('Of these, the ones no event announced.'),
      news_hours: number('Hours between the polls that found them, weighted the same way.'),
      quiet_since: timestamp(
        'When the last poll that found something new began; before the first such poll, when polls were first counted.',
      ),
      quiet_polls: integer('Polls since then that were complete and found nothing.'),
      usual_news: number('How many new and changed records a day polls had found until then.'),
      by_id_refused_at: timestamp(
        'When the source was last found not to answer by id for this list. For a week, single records are not requested; null if it answers or was never asked.',
      ),
      shared_services: json(
        'Services that two live orders have (docs/reconcile.md); null if there are none.',
      ),
      refill: text(
        'Why the whole list must be read again, such as a recreated table; null if it need not be.',
      ),
      refill_walk: json(
        'What that reading needs to resume after an interruption; null if it has not started. Meanwhile, `walk` fetches what is new.',
      ),
    },
  }),
  sync_registers: define({
    doc: 'How many live rows each cursor should have. Updated in the same transaction as the rows, so shopsync notices if rows vanish any other way.',
    vouches: true,
    key: ['tenant_id', 'resource'],
    fields: {
      ...cursor,
      live_rows: integer('Number of live rows; null if unknown.'),
    },
    former: ['sketch'],
  }),
  sync_walk_parts: define({
    doc: 'Ids that an unfinished walk has seen, one row per page; empty if there is no such walk.',
    vouches: true,
    key: ['tenant_id', 'resource', 'fills', 'part'],
    fields: {
      ...cursor,
      fills: integer('1 for the walk in sync_cursors.refill_walk; 0 for the one in sync_cursors.walk.'),
      part: integer('Number of the part.'),
      ids: text('Ids first seen on that page, sorted, as differences in base 36.'),
      entered: text('Ids that entered the list while it was being read, in the same form.'),
    },
  }),
  sync_quarantine: define({
    doc: 'Values that could not be stored as received. Tenant 0: authorizations that name no tenant.',
    key: ['tenant_id', 'resource', 'record_id', 'path'],
    fields: {
      ...cursor,
      record_id: text('Id of the record; if it has none, `?` and a digest of the record.'),
      path: text(
        'Where in the record, such as services[2].parts[0].cost_cents; empty for the record itself.',
      ),
      value: text('The value, as JSON text.'),
      reason: text('Why it could not be stored.'),
      first_seen_at: timestamp('First seen.'),
      last_seen_at: timestamp('Last seen.'),
    },
  }),
  sync_drift: define({
    doc: "Fields and enumeration values the API sends that aren't in its documentation.",
    key: ['resource', 'path', 'kind', 'detail'],
    fields: {
      resource: text('Resource.'),
      path: text('Where in the record, without array positions, such as services[].warranty.'),
      kind: text('`unknown_field`, `unknown_value` or `replaced_character`.'),
      detail: text('The unknown enumeration value; empty for the other kinds.'),
      example: text('An example, shortened, as JSON text.'),
      tenant_id: id('The tenant in whose data it was first seen.'),
      first_seen_at: timestamp('First seen.'),
      last_seen_at: timestamp('Last seen.'),
    },
  }),
  sync_source: define({
    doc: 'Which source this warehouse belongs to, and what `shopsync check` learned about how it behaves.',
    key: ['name'],
    fields: {
      name: text('Always `source`.'),
      base_url: text(
        'Address of the source, without a trailing slash, stored by the first run with a granted tenant. Runs with another address are refused.',
      ),
      partner_id: text('Partner identifier, stored the same way.'),
      since: timestamp('When it was stored, or last adopted.'),
      lists_from: text(
        'The earliest `updated_after` the API accepts, if it refuses 0001-01-01T00:00:00+12:00; otherwise null.',
      ),
      probe: json('What the last probe by `shopsync check` found; null if there was none.'),
      probed_at: timestamp('When that probe ran.'),
    },
  }),
  sync_columns: define({
    doc: 'Columns that the configuration adds, or once added, for unknown fields, and `_seen_from` of resources whose history is kept.',
    key: ['resource', 'name'],
    fields: {
      resource: text('Resource.'),
      name: text('The column, and the `_extra` field its values come from.'),
      kind: text('Its kind, such as `text`.'),
      state: text(
        '`column`: it is configured. `left`: it was, and stays; only records that no list shows still have values in it.',
      ),
    },
  }),
  sync_privacy: define({
    doc: 'Columns that `privacy` hides, and whether the stored rows are hidden yet; a row for what is in quarantine; and a row with an empty table, which tells keys apart.',
    key: ['table', 'column'],
    fields: {
      table: text('The table; empty in the row that tells keys apart.'),
      column: text('The column; `key` in the row that tells keys apart.'),
      mode: text(
        '`hash` or `drop`; of sync_quarantine `short`: short values of the right kind are kept. In the row that tells keys apart: 16 digits that follow from the key.',
      ),
      key_version: integer('privacy.keyVersion, as it was when the mode was chosen.'),
      state: text(
        "`hiding`: the stored rows are being hidden. `hidden`: they are. `traces`: they are, but the database's files may still contain earlier values. `reading`: the lists are read in full, since the source is needed for it.",
      ),
      done_to: json('While rows are being hidden: the key of the last one; null before the first.'),
      since: timestamp('Since when it is in that state.'),
    },
  }),
  sync_lateness: define({
    doc: 'How late records became visible: a distribution by resource and day, over all tenants.',
    vouches: true,
    key: ['resource', 'day', 'way', 'up_to_ms'],
    fields: {
      resource: text('Resource.'),
      day: text('Day of the run, in UTC, such as 2026-01-31.'),
      way: text('`walk`: found by a walk, late or not. `reconcile`: late, and found only by reconcile.'),
      up_to_ms: integer(
        'Upper bound of the lateness in milliseconds, a power of two; 0 for records that were on time.',
      ),
      records: integer('How many.'),
      largest_us: integer('The largest lateness among them, in microseconds.'),
    },
  }),
  sync_lease: define({
    doc: 'Which processes may write: one row for the whole warehouse, and one for each shard that was ever claimed.',
    key: ['name'],
    fields: {
      name: text('`run`: the whole warehouse. `I/N`, such as `3/8`: the tenants of that shard.'),
      token: integer('Fencing token. Every claim takes a higher one, and every commit checks it.'),
      owner: text('Run id of the holder; null if nobody holds it.'),
      host: text('Host the holder runs on.'),
      pid: integer('Its process id.'),
      command: text('What it is doing.'),
      claimed_at: timestamp('Since when.'),
      expires_at: timestamp('When others may take it. The holder moves this forward while it is alive.'),
      wanted_at: timestamp(
        'When a waiting process last asked for it. Row `run`: shards and listeners then end their turns. Row of a shard: a listener does. null if nobody is waiting.',
      ),
      stamps_from: timestamp(
        "Later than every `_synced_at` so far, and earlier than every one of this holder's, whatever the clocks of both show.",
      ),
      stamps_until: timestamp(
        "No `_synced_at` of this holder is later. Moves forward with the expiry; after the holder's end, its last one.",
      ),
      forgotten: integer(
        'How often `sync_forgotten_records` has changed: a page that was prepared before a change is prepared again. null: never.',
      ),
      row_settings: text(
        'Digests of the settings that shape the rows of the holder, by name: shards that work at the same time are compared by them.',
      ),
    },
  }),
  sync_rate: define({
    doc: 'What processes that share a rate limit have taken of its current window (docs/scale.md): one row per rule.',
    key: ['rule'],
    fields: {
      rule: text(
        'What the limit counts by: an IP address or a partner id, as X-Ratelimit-Matchkey names it.',
      ),
      resets_at: integer("When the window ends: seconds since 1970 by the API's clock."),
      limit: integer('Requests allowed per window.'),
      taken: integer('How many of them processes have taken, or others have used.'),
    },
  }),
  sync_meta: define({
    doc: 'What shopsync remembers of the warehouse as a whole, by name.',
    key: ['name'],
    fields: {
      name: text(
        'Of the tables: `schema_version`, `model`, `columns`, `names`, `views` and their schema, `calendar`, `row_settings` (digests of the settings that shape rows), `tenant_traces` (whose erased rows may still be in the files), `copy` and `part` (in a copy), `scheduler` (which process is `shopsync schedule`). Of runs: `authorizations` (how many), `rate window` (how long it is), `stretched polling`, `then` and `then turn`, `history_thinned_to`, `history_pruned_on`, and why what was last tried failed: `failed snapshot`, `failed report`, `failed then`.',
      ),
      value: text('Its value.'),
    },
  }),
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
  sync_derived: define({
    doc: 'The rule and settings that the derived tables of each tenant were computed with. If either changes, they are recomputed.',
    key: ['tenant_id', 'name'],
    fields: {
      tenant_id: id('Tenant.'),
      name: text('The derived table.'),
      version: integer('Version of the rule.'),
      settings: text('The settings the rule used, as JSON.'),
      done_to: id('While rows are being recomputed: the last finished record; null before the first.'),
      records: integer('Records whose rows were recomputed; 0 if all rows were stored with their records.'),
      finished_at: timestamp(
        'When all rows had this rule and these settings; null while they are being recomputed.',
      ),
    },
  }),
  sync_counters: define({
    doc: "Lifetime totals for the metrics (docs/operations.md, Metrics), so a process started by cron doesn't start at 0.",
    key: ['metric', 'labels', 'part'],
    fields: {
      metric: text('Name of the metric, such as shopsync_runs_total.'),
      labels: text('Its labels, as JSON: jobs, resources, outcomes and so on, nothing about a tenant.'),
      part: text(
        'For a histogram: the upper end of a range that counts only what lies in it, or `sum`. Otherwise empty.',
      ),
      value: integer(
        "The total so far; if the metric isn't a total, what the last run found. Seconds are kept as microseconds.",
      ),
    },
  }),
} as const

/** The engine's state tables as Kysely sees them. */
export type StateRows = RowsOf<typeof stateTables>

/** A state table in the form of a warehouse table, so one generator makes the DDL of both. */
const asTable = ([name, declared]: readonly [string, StateTable]): Table => ({
  name,
  resource: '',
  doc: declared.doc,
  grain: declared.doc,
  role: 'root',
  key: declared.key,
  indexes: declared.indexes ?? [],
  vouches: declared.vouches,
  former: declared.former,
  columns: Object.entries(declared.fields).map(([column, field]) => ({
    name: column,
    kind: field.kind,
    nullable: !declared.key.includes(column),
    doc: field.doc,
  })),
})

export const asTables = (tables: StateTables): Table[] => Object.entries(tables).map(asTable)

/** The state tables of the engine and of the features, in the order of the data dictionary. */
export const stateTableList = (features: readonly StateTables[]): readonly Table[] =>
  arrange<StateTable>(stateTables, features).map(asTable)
