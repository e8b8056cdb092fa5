import { keptCounters, keptGauges, keptHistograms, type Metric } from '../../engine/run/lifetimecounters.js'
import { acceptRanges, settleRanges } from '../events/counts.js'

/** Metrics of the warehouse's current state. */
export const stateGauges = {
  shopsync_build_info: { help: 'Always 1; the label shows which version is running.', labels: ['version'] },
  shopsync_cursors: { help: 'Cursors by state, as `shopsync status` shows them.', labels: ['state'] },
  shopsync_cursors_deletes_unchecked: {
    help: 'Cursors whose deletions were not checked for status.deletesUncheckedAfter.',
    labels: [],
  },
  shopsync_cursors_quiet: {
    help: 'Cursors that bring nothing new although they usually do, as `shopsync status` shows them.',
    labels: [],
  },
  shopsync_cursor_watermark_timestamp_seconds: {
    help: 'Every record whose updated_at is at or before it is in the warehouse; without tenant: the oldest of all tenants.',
    labels: ['tenant', 'resource'],
  },
  shopsync_cursor_last_proven_timestamp_seconds: {
    help: 'End of the last walk that ended proven, repaired or listed; without tenant: the oldest of all tenants.',
    labels: ['tenant', 'resource'],
  },
  shopsync_quarantine_values: {
    help: 'Values, items and records that could not be stored and wait in quarantine.',
    labels: ['resource'],
  },
  shopsync_drift_fields: {
    help: 'Unknown fields and values that the API sends but its documentation does not show.',
    labels: ['resource', 'kind'],
  },
  shopsync_incidents_open: {
    help: 'Open incidents, as `shopsync status` shows them; while there is one, it exits with 1.',
    labels: ['kind'],
  },
  shopsync_lease_age_seconds: {
    help: 'How long the current run has held the lock; 0: no run.',
    labels: [],
  },
  shopsync_rate_left: {
    help: 'Requests left of a rate-limit window that several processes share now (docs/scale.md); the rule is the address or partner it counts by.',
    labels: ['rule'],
  },
} as const

/** Totals of events, in sync_event_counts. These and the following ones are shown if anyone has ever listened. */
export const eventCounters = {
  shopsync_events_received_total: {
    help: 'Events received, by outcome: stored, double, ignored, unknown, unknown_tenant or forgotten, all answered with 200; else why they were refused.',
    labels: ['type', 'action', 'answer'],
  },
  shopsync_events_settled_total: {
    help: 'Settled events, by the list that they made due and by what became of them.',
    labels: ['resource', 'state'],
  },
} as const satisfies Record<string, Metric>

export const eventHistograms = {
  shopsync_events_accept_seconds: {
    help: 'How long an event took to be stored and answered, in seconds.',
    labels: [],
    bounds: acceptRanges,
  },
  shopsync_events_settle_seconds: {
    help: 'How long an event waited until a walk had settled it, in seconds.',
    labels: [],
    bounds: settleRanges,
  },
} as const satisfies Record<string, Metric & { readonly bounds: readonly number[] }>

export const eventGauges = {
  shopsync_events_readable: {
    help: '1; 0 if the received events are there but cannot be read: then there is no other metric of events.',
    labels: [],
  },
  shopsync_events_waiting: { help: 'Events that no walk has settled yet.', labels: [] },
  shopsync_events_oldest_waiting_seconds: {
    help: 'How long ago the oldest of them was received; 0: none waits.',
    labels: [],
  },
  shopsync_events_unannounced_records: {
    help: 'Changes of the last 30 days that walks found but no event announced, while a listener was up.',
    labels: ['resource'],
  },
} as const satisfies Record<string, Metric>

/** Shown with targets (docs/scale.md). The total is kept in sync_counters. */
export const targetCounters = {
  shopsync_changes_total: {
    help: 'New and changed records of resources with targets, by whether they were stored within the target (true) or later (false).',
    labels: ['resource', 'met'],
  },
} as const satisfies Record<string, Metric>

export const targetGauges = {
  shopsync_target_seconds: {
    help: 'How soon a change of the resource should be in the warehouse.',
    labels: ['resource'],
  },
  shopsync_oldest_poll_seconds: {
    help: "The time since the last poll of the resource's least recently polled list.",
    labels: ['resource'],
  },
} as const satisfies Record<string, Metric>

/** Shown if anything was ever sent to workers (docs/scale.md). */
export const workerGauges = {
  shopsync_workers: { help: 'Workers that are up.', labels: [] },
  shopsync_deliveries: {
    help: 'Deliveries of the last round of each job: waiting, active or done.',
    labels: ['status'],
  },
  shopsync_delivery_oldest_wait_seconds: {
    help: 'How long the oldest waiting delivery has been due; 0: none waits.',
    labels: [],
  },
} as const satisfies Record<string, Metric>

const typed = (type: 'counter' | 'gauge' | 'histogram', metrics: Readonly<Record<string, Metric>>) =>
  Object.entries(metrics).map(([name, metric]) => ({ name, type, ...metric }))

/** Every metric, by name. */
export const metricNames = [
  ...typed('gauge', stateGauges),
  ...typed('counter', keptCounters),
  ...typed('histogram', keptHistograms),
  ...typed('gauge', keptGauges),
  ...typed('counter', eventCounters),
  ...typed('histogram', eventHistograms),
  ...typed('gauge', eventGauges),
  ...typed('counter', targetCounters),
  ...typed('gauge', targetGauges),
  ...typed('gauge', workerGauges),
].toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** The table of docs/operations.md. Used by the build. */
export const metricReference = (): string =>
  [
    '| metric | type | labels | meaning |',
    '| --- | --- | --- | --- |',
    ...metricNames.map(
      ({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels.join(', ')} | ${help} |`,
    ),
  ].join('\n')
