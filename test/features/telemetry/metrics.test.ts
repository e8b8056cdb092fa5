/**
 * The metrics: what runs count is a lifetime total of the warehouse, whichever process ran them and however often their
 * end was recorded; the warehouse's current state is read again each time; and no label contains customer data.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { Retry } from '../../../src/engine/base/errors.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import { forgetTenant } from '../../../src/features/forget/work.js'
import {
  metricNames,
  targetCounters,
  targetGauges,
  workerGauges,
} from '../../../src/features/health/metricnames.js'
import { createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { Metrics, metricsOf } from '../../support/harness/metrics.js'
import { depsOf, type RunOptions, type RunReport, sync } from '../../support/harness/runs.js'
import { closeAll } from '../../support/harness/server.js'
import {
  type Dialect,
  migrate,
  open,
  reopen,
  rowsOf,
  startRun,
  warehouses,
} from '../../support/harness/warehouse.js'
import { through } from '../../support/world/through.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await closeAll()
})

const resources = ['notes', 'payments']
const records = 3

async function sandboxOfTwo(): Promise<Sandbox> {
  const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }, { id: 102 }] })
  closers.push(() => sandbox.close())
  for (const tenant of [101, 102])
    for (const resource of resources)
      for (let id = 1; id <= records; id++)
        sandbox.store.put(tenant, resource, template(resource, id, `2026-01-0${id}T00:00:00Z`), { key: id })
  return sandbox
}

async function worldOf(kind: Parameters<typeof open>[0]) {
  const [sandbox, warehouse] = [await sandboxOfTwo(), await open(kind)]
  closers.push(() => warehouse.close())
  const run = (options: RunOptions = {}): Promise<RunReport> =>
    sync(sandbox, warehouse, { resources, ...options })
  return { sandbox, warehouse, run }
}

/** A dialect whose every transaction is committed, and whose first response to each commit is lost. */
const deaf = (dialect: Dialect): Pick<Dialect, 'transaction'> => {
  const heard = new Set<unknown>()
  return {
    transaction: async (work) => {
      const result = await dialect.transaction(work)
      // Warehouse makes a new function of the same work for each attempt: every other response is lost.
      if (heard.size % 2 === 0) {
        heard.add(Symbol('lost'))
        throw new Retry('The answer to the commit was lost')
      }
      heard.add(Symbol('heard'))
      return result
    },
  }
}

describe.each(warehouses())('$name', (kind) => {
  it('totals continue in the next process: they equal what two runs report', async () => {
    const [sandbox, address] = [await sandboxOfTwo(), kind.address()]
    const reports: RunReport[] = []
    for (const mode of ['sync', 'full', 'reconcile'] as const) {
      const warehouse = await reopen(address)
      await migrate(warehouse)
      reports.push(await sync(sandbox, warehouse, { resources, mode }))
      await warehouse.close()
    }
    const warehouse = await reopen(address)
    closers.push(() => warehouse.close())
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
    const { sandbox, warehouse, run } = await worldOf(kind)
    await run()
    const before = await metricsOf(warehouse)
    const killed = {
      run_id: 'killed',
      job: 'nightly',
      mode: 'job',
      started_at: '2026-01-01T00:00:00.000000Z',
    }
    await warehouse.write([startRun(warehouse.db, { ...killed, status: 'running' })])
    const unlucky = through(warehouse, deaf(warehouse.dialect))
    const report = await sync(sandbox, unlucky, { resources })
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

  it('show states as status does, what is in quarantine, and what reconcile found; a forgotten tenant is gone', async () => {
    const { sandbox, warehouse, run } = await worldOf(kind)
    await run()
    await run({ mode: 'reconcile' })
    sandbox.store.remove(101, 'notes', 1)
    sandbox.store.put(
      101,
      'payments',
      {
        ...template('payments', 2, '2026-01-05T00:00:00Z'),
        amount_cents: 12.5,
        loyalty: 'gold for Mrs Hughes',
      },
      { key: 2 },
    )
    sandbox.script([{ when: { tenant: 102, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    await run()
    await run({ mode: 'reconcile', tenants: [101] })
    const found = await metricsOf(warehouse)
    expect(
      found
        .all('cursors')
        .filter(({ value }) => value > 0)
        .map(({ labels, value }) => [labels.state, value]),
    ).toEqual([
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
    expect(found.text).not.toContain('Hughes')
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
    expect((await metricsOf(warehouse, { exceptTenants: [102] })).sum('cursors', { state: 'excepted' })).toBe(
      2,
    )
    const { deps, close } = await depsOf(sandbox, warehouse)
    await forgetTenant(deps, 101)
    await close()
    const left = await metricsOf(warehouse)
    expect(left.all('cursor_watermark_timestamp_seconds').map(({ labels }) => labels.tenant)).toEqual([
      '102',
      '102',
    ])
    expect(left.text).not.toContain('"101"')
    // Totals belong to the warehouse, and never decrease: Prometheus would take that for a restart.
    expect(left.sum('records_applied_total')).toBe(later.sum('records_applied_total'))
  })

  it('distinguish tenants up to maxTenants, and beyond it show the oldest of all; configured labels are on each', async () => {
    const { sandbox, warehouse, run } = await worldOf(kind)
    sandbox.store.put(102, 'notes', template('notes', 9, '2026-02-01T00:00:00Z'), { key: 9 })
    await run()
    const name = 'cursor_watermark_timestamp_seconds'
    const [apart, together] = [await metricsOf(warehouse), await metricsOf(warehouse, { maxTenants: 1 })]
    const [early, late] = ['2026-01-03T00:00:00Z', '2026-02-01T00:00:00Z'].map((at) => Date.parse(at) / 1000)
    expect(apart.all(name, { resource: 'notes' }).map(({ labels, value }) => [labels.tenant, value])).toEqual(
      [
        ['101', early],
        ['102', late],
      ],
    )
    expect(together.all(name, { resource: 'notes' }).map(({ labels, value }) => [labels, value])).toEqual([
      [{ resource: 'notes' }, early],
    ])
    const labelled = await metricsOf(warehouse, { labels: { warehouse: 'main' } })
    expect(labelled.series.every(({ labels }) => labels.warehouse === 'main')).toBe(true)
  })

  it('count how late records became visible, and those in time', async () => {
    const { sandbox, warehouse, run } = await worldOf(kind)
    await run()
    const at = (ms: number): string => new Date(Date.now() + ms).toISOString()
    sandbox.store.put(101, 'notes', template('notes', 11, at(-120_000)), { key: 11 })
    sandbox.store.put(101, 'notes', template('notes', 12, at(500)), { key: 12 })
    await run({ overlapMs: 3_600_000, resources: ['notes'] })
    const buckets = (await metricsOf(warehouse)).all('record_lateness_seconds_bucket', { resource: 'notes' })
    const upTo = new Map(buckets.map(({ labels, value }) => [labels.le, value]))
    expect([upTo.get('0'), upTo.get('60'), upTo.get('300'), upTo.get('+Inf')]).toEqual([1, 1, 2, 2])
    expect((await rowsOf(warehouse, 'sync_lateness')).length).toBe(2)
  })

  it('of a warehouse that lacks the table of the shared window show none', async () => {
    const { warehouse } = await worldOf(kind)
    await warehouse.db.schema.dropTable('sync_rate').execute()
    expect((await metricsOf(warehouse)).all('rate_left')).toEqual([])
  })

  it('contain only our own names and ids, whatever is in the data', async () => {
    const { sandbox, warehouse, run } = await worldOf(kind)
    const odd = {
      ...template('notes', 4, '2026-01-06T00:00:00Z'),
      'Mrs Hughes "\n': { vip: 'Mrs Hughes' },
      created_at: 'Mrs Hughes',
    }
    sandbox.store.put(101, 'notes', odd, { key: 4 })
    await run()
    await run({ mode: 'reconcile' })
    const { text, series } = await metricsOf(warehouse)
    expect(text).not.toContain('Hughes')
    const ours = /^(\d+|\d[\d.]*|\+Inf|none|[a-z_]+)$/
    expect(
      series.flatMap(({ labels }) => Object.values(labels)).filter((value) => !ours.test(value)),
    ).toEqual([])
    for (const { labels } of series) if (labels.resource) expect(resources).toContain(labels.resource)
  })
})

describe('every metric', () => {
  it('is shown from the first run on with its type, even without a number yet', async () => {
    const [kind] = warehouses()
    const { warehouse } = await worldOf(kind!)
    const shown = async () =>
      [...(await metricsOf(warehouse)).types]
        .map(([name, type]) => ({ name, type }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const all = metricNames.map(({ name, type }) => ({ name, type }))
    // Those of events, if anyone has listened; those of workers, if anything was sent to them.
    const ofOthers = [targetCounters, targetGauges, workerGauges].flatMap(Object.keys)
    const ofThisOne = all.filter(({ name }) => !ofOthers.includes(name))
    expect(await shown()).toEqual(ofThisOne.filter(({ name }) => !name.startsWith('shopsync_events_')))
    const inbox = await Inbox.open(warehouse)
    await inbox.close()
    expect(await shown()).toEqual(ofThisOne)
    expect(new Metrics('a_total{b="c d",e="f\\"g"} 2\n').series).toEqual([
      { name: 'a_total', labels: { b: 'c d', e: 'f\\"g' }, value: 2 },
    ])
  })
})
