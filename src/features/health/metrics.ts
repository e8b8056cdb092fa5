/*
 * All metrics of a warehouse, in the text format that Prometheus reads: its current state, and the lifetime totals that
 * runs have added up. Used by `GET /metrics` of the scheduler and by writemetrics.ts. No label contains customer data: only
 * tenant ids, names of resources and jobs, and our own words.
 */
import { Counter, Gauge, Registry } from 'prom-client'
import { groupedBy } from '../../engine/base/parts.js'
import { toMicros } from '../../engine/base/timestamp.js'
import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import {
  keptCounters,
  keptGauges,
  keptHistograms,
  lastPart,
  sumPart,
} from '../../engine/run/lifetimecounters.js'
import { type CounterEntry, readCounters } from '../../engine/warehouse/state/counters.js'
import { type EventTotals, readEventTotals } from '../events/eventview.js'
import { isUnreadable, type UnreadableInbox } from '../events/watchinbox.js'
import { type ResourceFreshnessStatus, readFreshness } from '../targets/freshnessplan.js'
import { type GaugesOptions, readGauges, type WarehouseGauges } from './gauges.js'
import {
  eventCounters,
  eventGauges,
  eventHistograms,
  stateGauges,
  targetCounters,
  targetGauges,
  workerGauges,
} from './metricnames.js'
import { readWorkerGauges } from './workerhealth.js'

export interface MetricsOptions extends GaugesOptions {
  readonly version: string
  /** undefined without targets. */
  readonly targets?: FreshnessSettings | undefined
  /** Labels of every series. */
  readonly labels: Readonly<Record<string, string>>
}

/** All metrics, as they are now. */
export async function metricsText(options: MetricsOptions): Promise<string> {
  const registry = new Registry()
  registry.setDefaultLabels(options.labels)
  const state = await readGauges(options)
  const kept = groupedBy(await readCounters(options.warehouse), ({ metric }) => metric)
  showState(registry, state, options)
  for (const [name, metric] of Object.entries(keptCounters)) {
    const counter = new Counter({ ...describe(name, metric), registers: [registry] })
    for (const { labels, value } of kept.get(name) ?? [])
      counter.inc(labels, name.endsWith('_seconds_total') ? value / 1e6 : value)
  }
  for (const [name, metric] of Object.entries(keptGauges)) {
    const gauge = new Gauge({ ...describe(name, metric), registers: [registry] })
    for (const { labels, value } of kept.get(name) ?? [])
      gauge.set(labels, name.endsWith('_seconds') ? value / 1e6 : value)
  }
  for (const [name, metric] of Object.entries(keptHistograms))
    registry.registerMetric(new KeptHistogram(describe(name, metric), metric.bounds, kept.get(name) ?? []))
  const events = await readEventTotals(options.warehouse, options.nowMicros)
  if (events) showEvents(registry, events)
  if (options.targets)
    showTargets(registry, {
      freshness: await readFreshness(options.warehouse, options.targets, options),
      kept,
    })
  const workers = await readWorkerGauges(options.warehouse)
  if (workers) showWorkers(registry, workers)
  return registry.metrics()
}

/** In sync_event_counts, metrics have short names. */
const ownName = (name: string): string => name.replace(/^shopsync_events_/, '').replace(/_total$/, '')

function showEvents(registry: Registry, events: EventTotals | UnreadableInbox): void {
  const gauge = (name: keyof typeof eventGauges): Gauge =>
    new Gauge({ ...describe(name, eventGauges[name]), registers: [registry] })
  gauge('shopsync_events_readable').set(isUnreadable(events) ? 0 : 1)
  if (isUnreadable(events)) return
  const { counts, waiting, oldestSeconds, unannounced } = events
  const kept = groupedBy(counts, ({ metric }) => metric)
  for (const [name, metric] of Object.entries(eventCounters)) {
    const counter = new Counter({ ...describe(name, metric), registers: [registry] })
    for (const { labels, value } of kept.get(ownName(name)) ?? []) counter.inc(labels, value)
  }
  for (const [name, metric] of Object.entries(eventHistograms))
    registry.registerMetric(
      new KeptHistogram(describe(name, metric), metric.bounds, kept.get(ownName(name)) ?? []),
    )
  gauge('shopsync_events_waiting').set(waiting)
  gauge('shopsync_events_oldest_waiting_seconds').set(oldestSeconds)
  const silent = gauge('shopsync_events_unannounced_records')
  for (const { resource, unannounced: records } of unannounced) silent.set({ resource }, records)
}

function showTargets(
  registry: Registry,
  {
    freshness,
    kept,
  }: {
    readonly freshness: readonly ResourceFreshnessStatus[]
    readonly kept: ReadonlyMap<string, readonly CounterEntry[]>
  },
): void {
  for (const [name, metric] of Object.entries(targetCounters)) {
    const counter = new Counter({ ...describe(name, metric), registers: [registry] })
    for (const { labels, value } of kept.get(name) ?? []) counter.inc(labels, value)
  }
  const gauge = (name: keyof typeof targetGauges): Gauge =>
    new Gauge({ ...describe(name, targetGauges[name]), registers: [registry] })
  const target = gauge('shopsync_target_seconds')
  const oldest = gauge('shopsync_oldest_poll_seconds')
  for (const { resource, tenant_id, target_seconds, oldest_poll_seconds } of freshness) {
    // A series for each tenant would be too many.
    if (tenant_id !== undefined) continue
    target.set({ resource }, target_seconds)
    if (oldest_poll_seconds !== null) oldest.set({ resource }, oldest_poll_seconds)
  }
}

function showWorkers(
  registry: Registry,
  { workers, deliveries, oldestSeconds }: NonNullable<Awaited<ReturnType<typeof readWorkerGauges>>>,
): void {
  const gauge = (name: keyof typeof workerGauges): Gauge =>
    new Gauge({ ...describe(name, workerGauges[name]), registers: [registry] })
  gauge('shopsync_workers').set(workers)
  const sent = gauge('shopsync_deliveries')
  for (const [status, amount] of Object.entries(deliveries)) sent.set({ status }, amount)
  gauge('shopsync_delivery_oldest_wait_seconds').set(oldestSeconds)
}

const describe = (
  name: string,
  { help, labels }: { readonly help: string; readonly labels: readonly string[] },
) => ({ name, help, labelNames: [...labels] })

/** A histogram with known counts: prom-client's own can only observe each value again. */
class KeptHistogram extends Gauge {
  readonly #bounds: readonly number[]
  readonly #entries: readonly CounterEntry[]

  constructor(
    described: {
      readonly name: string
      readonly help: string
      readonly labelNames: string[]
    },
    bounds: readonly number[],
    entries: readonly CounterEntry[],
  ) {
    super({ ...described, registers: [] })
    this.#bounds = bounds
    this.#entries = entries
  }

  override async get(): ReturnType<Gauge['get']> {
    const series = groupedBy(this.#entries, ({ labels }) => JSON.stringify(labels))
    const empty = await super.get()
    const values = [...series.values()].flatMap((entries) => this.#values(empty.name, entries))
    // The library declares the types of metrics as numbers, but prints and knows their names.
    return { ...empty, type: 'histogram' as unknown as typeof empty.type, values }
  }

  #values(name: string, entries: readonly CounterEntry[]) {
    const labels = entries[0]?.labels ?? {}
    const parts = new Map(entries.map(({ part, value }) => [part, value]))
    let count = 0
    const buckets = [...this.#bounds.map(String), lastPart].map((le) => {
      count += parts.get(le) ?? 0
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: (parts.get(sumPart) ?? 0) / 1e6 },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
}

function showState(registry: Registry, state: WarehouseGauges, options: MetricsOptions): void {
  const gauge = (name: keyof typeof stateGauges): Gauge =>
    new Gauge({ ...describe(name, stateGauges[name]), registers: [registry] })
  gauge('shopsync_build_info').set({ version: options.version }, 1)
  const cursors = gauge('shopsync_cursors')
  for (const [name, count] of state.states) cursors.set({ state: name }, count)
  gauge('shopsync_cursors_deletes_unchecked').set(state.deletesUnchecked)
  gauge('shopsync_cursors_quiet').set(state.quiet)
  showTimes(gauge('shopsync_cursor_watermark_timestamp_seconds'), state, 'watermark')
  showTimes(gauge('shopsync_cursor_last_proven_timestamp_seconds'), state, 'last_success_at')
  const quarantine = gauge('shopsync_quarantine_values')
  for (const resource of options.resources) quarantine.set({ resource }, 0)
  for (const { resource, amount } of state.quarantine) quarantine.set({ resource }, amount)
  const drift = gauge('shopsync_drift_fields')
  for (const { resource, kind, amount } of state.drift) drift.set({ resource, kind }, amount)
  const incidents = gauge('shopsync_incidents_open')
  for (const [kind, amount] of state.incidents) incidents.set({ kind }, amount)
  gauge('shopsync_lease_age_seconds').set(state.leaseSeconds)
  const rates = gauge('shopsync_rate_left')
  for (const { rule, left } of state.rates) rates.set({ rule }, left)
}

const seconds = (time: string): number => Number(toMicros(time)) / 1e6

/** Each tenant's own time, or the oldest of a resource if there are too many tenants. */
function showTimes(gauge: Gauge, { times }: WarehouseGauges, time: 'watermark' | 'last_success_at'): void {
  for (const { tenant_id, resource, [time]: at } of times) {
    const tenant = tenant_id === undefined ? {} : { tenant: String(tenant_id) }
    if (at !== null) gauge.set({ ...tenant, resource }, seconds(at))
  }
}
