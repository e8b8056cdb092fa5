/**
 * The metrics: a run counts once, however often its end was recorded; and no label contains customer data. That what runs count
 * is a lifetime total of the warehouse, and its state is read again each time: test/transcripts/config.txt.
 */
import { describe, expect, it } from 'vitest'
import { Retry } from '../../../src/engine/base/errors.js'
import { template } from '../../../src/sandbox/index.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { type RunOptions, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { textOf } from '../../support/harness/tree.js'
import { type Dialect, kept, open, startRun, warehouses } from '../../support/harness/warehouse.js'
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
    expect(grown('api_request_duration_seconds_count')).toBe(report.requests)
    const last = Date.parse(report.finished_at) / 1000
    expect(after.sum('run_last_end_timestamp_seconds', { job: 'sync', outcome: 'ok' })).toBeCloseTo(last, 2)
    expect(grown('records_applied_total')).toBe(0)
    expect(after.all('runs_total', { job: 'nightly' }).map(({ labels, value }) => [labels, value])).toEqual([
      [{ job: 'nightly', outcome: 'interrupted' }, 1],
    ])
    await run()
    expect((await metricsOf(warehouse)).sum('runs_total', { outcome: 'interrupted' })).toBe(1)
  })

  it('contain only our own names and ids', async () => {
    const { warehouse, run } = await begun()
    const odd = { 'Mrs Hughes "\n': { vip: 'Mrs Hughes' }, created_at: 'Mrs Hughes' }
    put(101, 'notes', 4, '2026-01-06T00:00:00Z', odd)
    await run()
    await run({ mode: 'reconcile' })
    const { text, series } = await metricsOf(warehouse)
    expect(text).not.toContain('Hughes')
    const ours = /^(\d+|\d[\d.]*|\+Inf|none|[a-z_]+)$/
    const values = series.flatMap(({ labels }) => Object.values(labels))
    expect(values.filter((value) => !ours.test(value))).toEqual([])
    for (const { labels } of series) if (labels.resource) expect(resources).toContain(labels.resource)
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
    await EventBench.open(sandbox, warehouse)
    expect(await shown()).toEqual(all)
  })

  it('of a warehouse that lacks the table of the shared window show none', async () => {
    const warehouse = await open(kind)
    await warehouse.db.schema.dropTable('sync_rate').execute()
    expect((await metricsOf(warehouse)).all('rate_left')).toEqual([])
  })
})
