import { keptCounters, keptGauges, keptHistograms, type Metric } from '../../engine/run/lifetimecounters.js'

/** Metrics that say how the warehouse is now. */
export const stateGauges = {
  shopsync_build_info: { help: 'Always 1; the label says which version runs.', labels: ['version'] },
  shopsync_cursors: { help: 'Cursors by their state, as `shopsync status` has it.', labels: ['state'] },
  shopsync_cursors_deletes_unchecked: {
    help: 'Cursors whose deletions were not looked for since status.deletesUncheckedAfter.',
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
    help: 'Unknown fields and values that the API sends and its document does not show.',
    labels: ['resource', 'kind'],
  },
  shopsync_incidents_open: {
    help: 'Incidents that are open, as `shopsync status` has them: while there is one, it exits with 1.',
    labels: ['kind'],
  },
  shopsync_lease_age_seconds: {
    help: 'For how long the run that is at work has held the lock; 0: none is at work.',
    labels: [],
  },
} as const

const typed = (type: 'counter' | 'gauge' | 'histogram', metrics: Readonly<Record<string, Metric>>) =>
  Object.entries(metrics).map(([name, metric]) => ({ name, type, ...metric }))

/** Every metric that there is, by name. */
export const metricNames = [
  ...typed('gauge', stateGauges),
  ...typed('counter', keptCounters),
  ...typed('histogram', keptHistograms),
  ...typed('gauge', keptGauges),
].toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** The table of docs/operations.md. Used by the build. */
export const metricReference = (): string =>
  [
    '| metric | type | labels | says |',
    '| --- | --- | --- | --- |',
    ...metricNames.map(
      ({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels.join(', ')} | ${help} |`,
    ),
  ].join('\n')
