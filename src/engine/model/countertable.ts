import { integer, text } from '../../../schema/resource.js'
import { define } from './statetable.js'

/** What the metrics need that no other table tells. Used by features/schedule/tables.ts; written by src/engine/warehouse/counters.ts. */
export const counterTables = {
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
