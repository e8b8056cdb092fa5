import { boolean, id, integer, json, number, text, timestamp } from '../../../schema/resource.js'
import { arrange } from '../base/arrange.js'
import { runTables } from './runtables.js'
import { define, type RowsOf, type StateTable, type StateTables } from './statetable.js'
import type { Table } from './table.js'

const cursor = { tenant_id: id('Tenant.'), resource: text('Resource.') }

/**
 * The engine's own tables, which BI tools may read: the warehouse writes them, the data dictionary describes them.
 * Features have their own tables in addition.
 */
export const stateTables = {
  tenants: define({
    doc: 'The tenants that have granted access, and those that once had. From the API document, Resources: Authorization.',
    key: ['tenant_id'],
    fields: {
      tenant_id: id('Tenant.'),
      authorization_id: id('Id of the authorization.'),
      api_partner_id: id('Identifier of the API partner.'),
      api_tenant_id: id('Identifier of the API tenant.'),
      writable: boolean('true if write actions are enabled for this authorization.'),
      revoked_at: timestamp('When the tenant was found to be no longer granted; its rows are kept.'),
      _synced_at: timestamp('When the request was sent that brought this version of the row.'),
      _extra: json('What the API sent and its document does not show.'),
    },
  }),
  sync_forgotten: define({
    doc: 'Tenants that were forgotten: runs leave them out, granted or not, until shopsync forget --tenant ID --lift.',
    vouches: true,
    key: ['tenant_id'],
    fields: {
      tenant_id: id('Tenant.'),
      forgotten_at: timestamp('When it was forgotten.'),
    },
  }),
  sync_cursors: define({
    doc: 'How far each resource of each tenant has come.',
    vouches: true,
    key: ['tenant_id', 'resource'],
    fields: {
      ...cursor,
      watermark: timestamp('Every record whose updated_at is at or before it is in the warehouse.'),
      status: text('`ok`, `failed`, `unavailable` or `skipped` after the last run.'),
      completeness: text('Verdict of the last walk: `proven`, `repaired`, `listed` or `unproven`.'),
      reason: text(
        'Why the verdict is not `proven`, or an oddity of the source: a short code (docs/guarantees.md); null where nothing is odd.',
      ),
      last_success_at: timestamp('End of the last walk that was complete.'),
      last_error: text('Why the last run of this cursor failed; null when it did not.'),
      last_run_id: text('The last run that worked on it.'),
      walk: json('What a resumed walk needs; null when none is under way.'),
      remembered: json(
        'What is odd about the list (docs/guarantees.md, Premises): records never shown, holes, places shown twice, no true order or total; null where nothing is.',
      ),
      stamps_ahead: integer(
        "Records stamped ahead of the source's clock by a minute or more, when the last walk read them; null where there are none.",
      ),
      stamps_ahead_until: timestamp('The newest of their stamps: until then each run reads them again.'),
      walked_at: timestamp(
        "When the last proven or repaired walk began, by the source's clock: what is stamped earlier and found later was late by so much.",
      ),
      complete_through: timestamp(
        'Every creation and update up to then is in the warehouse, unless it became visible later than any in the last 30 days.',
      ),
      complete_through_before: timestamp(
        'What complete_through was before a late record set it back; null when it has caught up.',
      ),
      deletes_checked_at: timestamp(
        'Every deletion up to then is in the warehouse: the start of the last reconcile that found, or made, the cursor equal, or of its first load.',
      ),
      polled_at: timestamp(
        'When the last walk began that came to its end, whatever it was for (docs/freshness.md); null before the first.',
      ),
      news: number(
        'New and changed records that polls found, at most 20 of each poll; a week later a count weighs a third.',
      ),
      news_unannounced: number('Of these, the ones that no event had announced.'),
      news_hours: number('Hours between the polls that found them, weighed likewise.'),
      shared_services: json('Services that two live orders show (docs/reconcile.md); null where none do.'),
      refill: text(
        'Why the whole list is read once more, such as a table that had to be created anew; null when nothing is to be filled.',
      ),
      refill_walk: json(
        'What that reading needs to go on where it was cut short; null when it was not begun. Meanwhile `walk` brings what is new.',
      ),
    },
  }),
  sync_registers: define({
    doc: 'Which live rows each resource of each tenant should have: kept in the transaction of every row that comes or goes, so that rows which vanish otherwise are noticed, and which they were.',
    vouches: true,
    key: ['tenant_id', 'resource'],
    fields: {
      ...cursor,
      live_rows: integer('How many; null where that is not known.'),
      sketch: text(
        'Their ids and versions in a kilobyte: what differs between two such texts can be read from them.',
      ),
    },
  }),
  sync_walk_parts: define({
    doc: 'The ids that a walk under way has seen, a row a page; empty when none is.',
    vouches: true,
    key: ['tenant_id', 'resource', 'fills', 'part'],
    grown: { column: 'fills', value: 0 },
    fields: {
      ...cursor,
      fills: integer('1: of the walk in sync_cursors.refill_walk; 0: of the one in sync_cursors.walk.'),
      part: integer('Number of the part.'),
      ids: text('Ids first seen on that page: sorted, as differences in base 36.'),
      entered: text('Ids that entered the list while it was read, likewise.'),
    },
  }),
  sync_quarantine: define({
    doc: 'Values that could not be stored as they came. Tenant 0: of authorizations that name no tenant.',
    key: ['tenant_id', 'resource', 'record_id', 'path'],
    fields: {
      ...cursor,
      record_id: text('Id of the record; `?` and a digest of the record when it has none.'),
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
    doc: 'Fields and enumeration values that the API sends and its document does not show.',
    key: ['resource', 'path', 'kind', 'detail'],
    fields: {
      resource: text('Resource.'),
      path: text('Where in the record, without array positions, such as services[].warranty.'),
      kind: text('`unknown_field`, `unknown_value` or `replaced_character`.'),
      detail: text('The unknown value of an enumeration; empty for the other kinds.'),
      example: text('An example, shortened, as JSON text.'),
      tenant_id: id('The tenant in whose data it was first seen.'),
      first_seen_at: timestamp('First seen.'),
      last_seen_at: timestamp('Last seen.'),
    },
  }),
  sync_source: define({
    doc: 'Which source this warehouse belongs to, and what `shopsync check` found out about its ways.',
    key: ['name'],
    fields: {
      name: text('Always `source`.'),
      base_url: text(
        'Address of the source, without a slash at its end: stored with the first run that a tenant was granted to. Runs from another address are refused.',
      ),
      partner_id: text('Partner identifier, likewise.'),
      since: timestamp('When it was stored, or last adopted.'),
      lists_from: text(
        'The earliest `updated_after` that the API accepts, where it refuses 0001-01-01T00:00:00+12:00; else null.',
      ),
      probe: json('What the last probe of `shopsync check` found; null when none was made.'),
      probed_at: timestamp('When that was.'),
    },
  }),
  sync_columns: define({
    doc: 'Columns that the configuration made of unknown fields, and columns whose values are still on their way; and `_seen_from` of the resources whose history is kept.',
    key: ['resource', 'name'],
    fields: {
      resource: text('Resource.'),
      name: text('The column, and the member of `_extra` that its values come from.'),
      kind: text('Its kind, such as `text`.'),
      state: text(
        '`column`: the values are in the column; `filling`: they move there from `_extra`; `emptying`: they move back.',
      ),
    },
  }),
  sync_lateness: define({
    doc: 'How late records became visible, by resource and day: the distribution, all tenants together.',
    vouches: true,
    key: ['resource', 'day', 'way', 'up_to_ms'],
    fields: {
      resource: text('Resource.'),
      day: text('Day of the run, in UTC, such as 2026-01-31.'),
      way: text('`walk`: found by a walk, late or not. `reconcile`: late, and found by reconcile alone.'),
      up_to_ms: integer(
        'Milliseconds by which the records were late at most: a power of two; 0 for records in time.',
      ),
      records: integer('How many.'),
      largest_us: integer('The largest lateness among them, in microseconds.'),
    },
  }),
  sync_lease: define({
    doc: 'Who may write: one row while a run is under way.',
    key: ['name'],
    fields: {
      name: text('Always `run`.'),
      token: integer('Fencing token: every claim takes a higher one, and every commit checks it.'),
      owner: text('Run id of the holder; null when nobody holds it.'),
      host: text('Where the holder runs.'),
      pid: integer('Its process.'),
      command: text('What it does.'),
      claimed_at: timestamp('Since when.'),
      expires_at: timestamp('From then on others may take it; the holder moves it forward while it lives.'),
      wanted_at: timestamp(
        'When somebody last said that a listener is to give it back; null where nobody waits for it.',
      ),
    },
  }),
  sync_meta: define({
    doc: 'What the program remembers of the tables: their version, and which columns they had.',
    key: ['name'],
    fields: {
      name: text(
        '`schema_version`, `model`, `columns`, `calendar`, `alerts`, `failed snapshot` and `failed report` (why they failed when last tried), or `views` and their schema.',
      ),
      value: text('Its value.'),
    },
  }),
  ...runTables,
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
  sync_counters: define({
    doc: 'Lifetime totals of the runs on record, for the metrics (docs/operations.md, Metrics): a process that cron started does not begin at 0.',
    key: ['metric', 'labels', 'part'],
    fields: {
      metric: text('Name of the metric, such as shopsync_runs_total.'),
      labels: text('Its labels, as JSON: jobs, resources, outcomes and the like, and nothing of a tenant.'),
      part: text(
        'Of a histogram: the upper end of a range that counts what lies in it alone, or `sum`. Else empty.',
      ),
      value: integer(
        'The total so far; where the metric is no total, what the last run found. Seconds are kept as microseconds.',
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
  ...(declared.grown && { grown: declared.grown }),
  ...(declared.vouches && { vouches: declared.vouches }),
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
