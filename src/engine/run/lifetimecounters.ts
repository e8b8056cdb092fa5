/*
 * What a run adds to the lifetime totals of its warehouse, in the transaction that records its end. This gives the same
 * metrics whether cron or `shopsync schedule` started the process. A killed run records no end: its counts are lost,
 * and the next run counts it as interrupted.
 */

import { Distribution } from '../base/distribution.js'
import { toMicros } from '../base/timestamp.js'
import { answerBounds } from '../source/http/traffic.js'
import type { SourceStats, SourceTraffic } from '../source/source.js'
import type { CounterEntry } from '../warehouse/state/counters.js'
import type { CursorReport, RunReport } from './runreport.js'
import { latenessBounds, type RunStats } from './runstats.js'

/** The description of a metric. The values of the kept ones are in sync_counters. */
export interface Metric {
  readonly help: string
  readonly labels: readonly string[]
}

/** Totals. */
export const keptCounters = {
  shopsync_runs_total: {
    help: 'Runs on record, by job and by how they ended.',
    labels: ['job', 'outcome'],
  },
  shopsync_api_requests_total: {
    help: 'Requests that runs sent to the API, by purpose and status; none: no answer came.',
    labels: ['purpose', 'status'],
  },
  shopsync_ratelimit_wait_seconds_total: {
    help: 'Seconds that runs waited because the rate limit was used up.',
    labels: [],
  },
  shopsync_records_applied_total: {
    help: 'Records that runs stored because they were new or changed.',
    labels: ['resource'],
  },
  shopsync_deletes_detected_total: {
    help: 'Records that runs found deleted at the source and marked as deleted.',
    labels: ['resource'],
  },
} as const satisfies Record<string, Metric>

/** Totals by range, for values in seconds. */
export const keptHistograms = {
  shopsync_run_duration_seconds: {
    help: 'How long runs took, from the lock to the end, in seconds.',
    labels: ['job'],
    bounds: [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800],
  },
  shopsync_api_request_duration_seconds: {
    help: 'How long the API took to answer a request, in seconds; waiting for the rate limit is not part of it.',
    labels: ['purpose'],
    bounds: answerBounds,
  },
  shopsync_record_lateness_seconds: {
    help: 'How long after their updated_at records became visible, in seconds; 0: in time.',
    labels: ['resource'],
    bounds: latenessBounds,
  },
} as const satisfies Record<string, Metric & { readonly bounds: readonly number[] }>

/** What the last run found, or when it was. */
export const keptGauges = {
  shopsync_run_last_end_timestamp_seconds: {
    help: 'When a run of the job last ended that way.',
    labels: ['job', 'outcome'],
  },
  shopsync_ratelimit_remaining: {
    help: "Requests that the API's rate limit left when the last run ended.",
    labels: [],
  },
  shopsync_reconcile_difference_records: {
    help: 'Records that differed between source and warehouse at the last reconcile.',
    labels: ['resource'],
  },
} as const satisfies Record<string, Metric>

/** In the part of an entry: the sum of a histogram's values, and the range without an upper bound. */
export const sumPart = 'sum'
export const lastPart = '+Inf'

const micros = (seconds: number): number => Math.round(seconds * 1e6)

const entry = (
  metric: keyof typeof keptCounters | keyof typeof keptGauges,
  labels: CounterEntry['labels'],
  value: number,
): CounterEntry => ({
  metric,
  labels,
  part: '',
  value,
})

/** The nonempty ranges, and the sum. */
function spread(
  metric: keyof typeof keptHistograms,
  labels: CounterEntry['labels'],
  { bounds, counts, sum }: Distribution,
): CounterEntry[] {
  const ranges = counts.map((value, i) => ({ metric, labels, part: String(bounds[i] ?? lastPart), value }))
  return [...ranges, { metric, labels, part: sumPart, value: micros(sum) }].filter(({ value }) => value > 0)
}

/** What a run is called in metrics: its job, or else its command. */
export const jobLabel = (job: string | null, mode: string | null): string =>
  job ?? (mode === 'full' ? 'sync' : (mode ?? 'unknown'))

export const runEntry = (job: string, outcome: string, runs: number): CounterEntry =>
  entry('shopsync_runs_total', { job, outcome }, runs)

/** A run that has ended. */
export interface EndedWork {
  readonly report: RunReport
  /** As sync_runs.status. */
  readonly outcome: string
  /** Of all steps that have ended. */
  readonly cursors: readonly CursorReport[]
  readonly stats: RunStats
  readonly traffic: Pick<SourceStats, 'window'> & SourceTraffic
}

/** What the run adds to totals, and what it found that replaces what earlier runs found. */
export function entriesOf(work: EndedWork): {
  readonly added: readonly CounterEntry[]
  readonly found: readonly CounterEntry[]
} {
  const { report, outcome, stats, cursors, traffic } = work
  const job = jobLabel(report.job, report.mode)
  const deleted = byResource(cursors, ({ deleted: records }) => records)
  const differing = byResource(cursors, (found) => found.stored + found.deleted + found.went_back)
  const waited = Math.round(traffic.waited * 1000)
  const totals = [
    runEntry(job, outcome, 1),
    entry('shopsync_ratelimit_wait_seconds_total', {}, waited),
    ...[...stats.applied].map(([resource, records]) =>
      entry('shopsync_records_applied_total', { resource }, records),
    ),
    ...[...deleted].map(([resource, records]) =>
      entry('shopsync_deletes_detected_total', { resource }, records),
    ),
  ]
  const ended = entry('shopsync_run_last_end_timestamp_seconds', { job, outcome }, endOf(report))
  const { window } = traffic
  return {
    added: [...totals.filter(({ value }) => value > 0), ...durations(job, work), ...requests(traffic)],
    found: [
      ended,
      ...(window ? [entry('shopsync_ratelimit_remaining', {}, window.remaining)] : []),
      ...[...differing].map(([resource, records]) =>
        entry('shopsync_reconcile_difference_records', { resource }, records),
      ),
    ],
  }
}

const endOf = ({ finished_at }: RunReport): number => Number(toMicros(finished_at))

function durations(job: string, { report, stats }: EndedWork): CounterEntry[] {
  const took = (endOf(report) - Number(toMicros(report.started_at))) / 1e6
  const lasted = new Distribution(keptHistograms.shopsync_run_duration_seconds.bounds)
  lasted.take(Math.max(0, took))
  return [
    ...spread('shopsync_run_duration_seconds', { job }, lasted),
    ...[...stats.lateness].flatMap(([resource, late]) =>
      spread('shopsync_record_lateness_seconds', { resource }, late),
    ),
  ]
}

const requests = ({ traffic }: SourceTraffic): CounterEntry[] => [
  ...traffic.answers.map(({ purpose, status, requests: sent }) =>
    entry('shopsync_api_requests_total', { purpose, status }, sent),
  ),
  ...[...traffic.times].flatMap(([purpose, times]) =>
    spread('shopsync_api_request_duration_seconds', { purpose }, times),
  ),
]

function byResource(
  cursors: readonly CursorReport[],
  count: (found: NonNullable<CursorReport['reconciled']>) => number,
): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { resource, reconciled } of cursors)
    if (reconciled) sums.set(resource, (sums.get(resource) ?? 0) + count(reconciled))
  return sums
}
