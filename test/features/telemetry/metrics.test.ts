/**
 * The metrics: what runs count is a lifetime total of the warehouse, whichever process ran them and however often their
 * end was recorded; the warehouse's current state is read again each time; and no label contains customer data.
 */
import { describe, expect, it } from 'vitest'
import { Retry } from '../../../src/engine/base/errors.js'
import { template } from '../../../src/sandbox/index.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { type RunOptions, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { textOf } from '../../support/harness/tree.js'
import {
  type Dialect,
  kept,
  open,
  reopen,
  rowsOf,
  startRun,
  warehouses,
} from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'
import { through } from '../../support/world/through.js'

const sandbox = await sandboxOfFile()
const resources = ['notes', 'payments']
const records = 3

const put = (tenant: number, resource: string, id: number, at: string, more: object = {}): void =>
  sandbox.store.put(tenant, resource, { ...template(resource, id, at), ...more }, { key: id })

function filled(): void {
  sandbox.reset()
  for (const id of [101, 102]) sandbox.store.addTenant({ id })
  for (const tenant of [101, 102])
    for (const resource of resources)
      for (let id = 1; id <= records; id++) put(tenant, resource, id, `2026-01-0${id}T00:00:00Z`)
}

/** A dialect whose every transaction is committed, and whose first response to each commit is lost. */
const deaf = (dialect: Dialect): Pick<Dialect, 'transaction'> => {
  let heard = 0
  return {
    transaction: async (work) => {
      const result = await dialect.transaction(work)
      // Warehouse makes a new function of the same work for each attempt: every other response is lost.
      if (heard++ % 2 === 0) throw new Retry('The answer to the commit was lost')
      return result
    },
  }
}

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

  async function begun() {
    filled()
    const warehouse = await stock.open()
    const run = (options: RunOptions = {}): Promise<RunReport> =>
      sync(sandbox, warehouse, { resources, ...options })
    await run()
    return { warehouse, run }
  }

  it('totals continue in the next process: they equal what the runs report', async () => {
    filled()
    const warehouse = await stock.open()
    const reports: RunReport[] = []
    for (const mode of ['sync', 'full', 'reconcile'] as const) {
      const process = await reopen(stock.address)
      reports.push(await sync(sandbox, process, { resources, mode }))
      await process.close()
    }
    const found = await metricsOf(warehouse)
    const requests = reports.reduce((sum, report) => sum + report.requests, 0)
    expect(found.all('runs_total').map(({ labels, value }) => [labels, value])).toEqual([
      [{ job: 'reconcile', outcome: 'ok' }, 1],
      [{ job: 'sync', outcome: 'ok' }, 2],
    ])
    expect(found.sum('api_requests_total', { status: '200' })).toBe(requests)
    expect(found.sum('api_request_duration_seconds_count')).toBe(requests)
    expect(found.sum('run_duration_seconds_count', { job: 'sync' })).toBe(2)
    expect(found.sum('run_duration_seconds_bucket', { job: 'sync', le: '+Inf' })).toBe(2)
    // The second walk read all of them again, and changed none.
    expect(found.sum('records_applied_total', { resource: 'notes' })).toBe(2 * records)
    const last = Date.parse(reports[1]!.finished_at) / 1000
    expect(found.sum('run_last_end_timestamp_seconds', { job: 'sync', outcome: 'ok' })).toBeCloseTo(last, 2)
  })

  it('a run counts once even if every response to a commit is lost, and a killed one counts as interrupted once', async () => {
    const { warehouse, run } = await begun()
    const before = await metricsOf(warehouse)
    const killed = {
      run_id: 'killed',
      job: 'nightly',
      mode: 'job',
      started_at: '2026-01-01T00:00:00.000000Z',
    }
    await warehouse.write([startRun(warehouse.db, { ...killed, status: 'running' })])
    const report = await sync(sandbox, through(warehouse, deaf(warehouse.dialect)), { resources })
    expect(report.status).toBe('ok')
    const after = await metricsOf(warehouse)
    const grown = (name: string, labels: Record<string, string> = {}): number =>
      (after.sum(name, labels) ?? 0) - (before.sum(name, labels) ?? 0)
    expect(grown('runs_total', { job: 'sync' })).toBe(1)
    expect(grown('run_duration_seconds_count')).toBe(1)
    expect(grown('api_requests_total')).toBe(report.requests)
    expect(grown('records_applied_total')).toBe(0)
    expect(after.all('runs_total', { job: 'nightly' }).map(({ labels, value }) => [labels, value])).toEqual([
      [{ job: 'nightly', outcome: 'interrupted' }, 1],
    ])
    await run()
    expect((await metricsOf(warehouse)).sum('runs_total', { outcome: 'interrupted' })).toBe(1)
  })

  it('show states as status does, what is in quarantine, what reconcile found, and how late records became visible', async () => {
    const { warehouse, run } = await begun()
    await run({ mode: 'reconcile' })
    sandbox.store.remove(101, 'notes', 1)
    put(101, 'payments', 2, '2026-01-05T00:00:00Z', { amount_cents: 12.5, loyalty: 'gold for Mrs Hughes' })
    sandbox.script([{ when: { tenant: 102, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    await run()
    await run({ mode: 'reconcile', tenants: [101] })
    const found = await metricsOf(warehouse)
    const states = found.all('cursors').filter(({ value }) => value > 0)
    expect(states.map(({ labels, value }) => [labels.state, value])).toEqual([
      ['ok', 3],
      ['failed', 1],
    ])
    // Three attempts, and one request for the page after the end.
    expect(found.sum('api_requests_total', { status: '500' })).toBe(4)
    expect(found.sum('deletes_detected_total', { resource: 'notes' })).toBe(1)
    expect(found.sum('reconcile_difference_records', { resource: 'notes' })).toBe(1)
    expect(found.sum('quarantine_values', { resource: 'payments' })).toBe(1)
    expect(found.sum('drift_fields', { resource: 'payments', kind: 'unknown_field' })).toBe(1)
    expect(found.sum('lease_age_seconds')).toBe(0)
    await run({ mode: 'reconcile', tenants: [101] })
    const later = await metricsOf(warehouse)
    expect(later.sum('reconcile_difference_records', { resource: 'notes' })).toBe(0)
    expect(later.sum('deletes_detected_total', { resource: 'notes' })).toBe(1)
    const nowMicros = BigInt(Date.now() + 4 * 86_400_000) * 1000n
    const unwatched = await metricsOf(warehouse, { nowMicros })
    expect([
      unwatched.sum('cursors', { state: 'stale' }),
      unwatched.sum('cursors_deletes_unchecked'),
    ]).toEqual([3, 4])
    const excepted = await metricsOf(warehouse, { exceptTenants: [102] })
    expect(excepted.sum('cursors', { state: 'excepted' })).toBe(2)

    sandbox.script([])
    const at = (ms: number): string => new Date(Date.now() + ms).toISOString()
    put(101, 'notes', 11, at(-120_000))
    put(101, 'notes', 12, at(500))
    await run({ overlapMs: 3_600_000, resources: ['notes'] })
    const buckets = (await metricsOf(warehouse)).all('record_lateness_seconds_bucket', { resource: 'notes' })
    const upTo = new Map(buckets.map(({ labels, value }) => [labels.le, value]))
    expect([upTo.get('0'), upTo.get('60'), upTo.get('300'), upTo.get('+Inf')]).toEqual([1, 1, 2, 2])
    const late = (await rowsOf(warehouse, 'sync_lateness')).filter(({ resource }) => resource === 'notes')
    expect(late.length).toBe(2)
  })

  it('distinguish tenants up to maxTenants, beyond it show the oldest of all, and contain only our own names and ids', async () => {
    const { warehouse, run } = await begun()
    put(102, 'notes', 9, '2026-02-01T00:00:00Z')
    const odd = { 'Mrs Hughes "\n': { vip: 'Mrs Hughes' }, created_at: 'Mrs Hughes' }
    put(101, 'notes', 4, '2026-01-06T00:00:00Z', odd)
    await run()
    await run({ mode: 'reconcile' })
    const name = 'cursor_watermark_timestamp_seconds'
    const [apart, together] = [await metricsOf(warehouse), await metricsOf(warehouse, { maxTenants: 1 })]
    const [early, late] = ['2026-01-06T00:00:00Z', '2026-02-01T00:00:00Z'].map((at) => Date.parse(at) / 1000)
    expect(apart.all(name, { resource: 'notes' }).map(({ labels, value }) => [labels.tenant, value])).toEqual(
      [
        ['101', early],
        ['102', late],
      ],
    )
    expect(together.all(name, { resource: 'notes' }).map(({ labels, value }) => [labels, value])).toEqual([
      [{ resource: 'notes' }, early],
    ])
    expect(apart.text).not.toContain('Hughes')
    const ours = /^(\d+|\d[\d.]*|\+Inf|none|[a-z_]+)$/
    const values = apart.series.flatMap(({ labels }) => Object.values(labels))
    expect(values.filter((value) => !ours.test(value))).toEqual([])
    for (const { labels } of apart.series) if (labels.resource) expect(resources).toContain(labels.resource)
    const labelled = await metricsOf(warehouse, { labels: { warehouse: 'main' } })
    expect(labelled.series.every(({ labels }) => labels.warehouse === 'main')).toBe(true)
  })

  it('each documented metric is shown from the first run on with its type, even without a number yet', async () => {
    // Its tables change.
    const warehouse = await open(kind)
    const shown = async () => [...(await metricsOf(warehouse)).types].toSorted(([a], [b]) => (a < b ? -1 : 1))
    // Those of events, if anyone has listened; those of targets and workers, if there are any.
    const all = [...textOf('docs/operations.md').matchAll(/^\| `(shopsync_\w+)` \| (\w+) \|/gm)]
      .map(([, metric = '', type = '']) => [metric, type] as [string, string])
      .filter(
        ([metric]) => !/_(changes_total|target_seconds|oldest_poll_seconds|workers|deliver\w+)$/.test(metric),
      )
    expect(all.length).toBeGreaterThan(25)
    expect(await shown()).toEqual(all.filter(([metric]) => !metric.startsWith('shopsync_events_')))
    await (await EventBench.open(sandbox, warehouse)).inbox.close()
    expect(await shown()).toEqual(all)
    await warehouse.close()
  })

  it('of a warehouse that lacks the table of the shared window show none', async () => {
    const warehouse = await open(kind)
    await warehouse.db.schema.dropTable('sync_rate').execute()
    expect((await metricsOf(warehouse)).all('rate_left')).toEqual([])
    await warehouse.close()
  })
})
