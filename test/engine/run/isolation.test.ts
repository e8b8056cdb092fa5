/** Promise 4: one record, one page, one resource or one tenant that fails doesn't stop the others. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { exitCodeOfRun } from '../../../src/shell/execute.js'
import {
  type CursorReport,
  type RunReport,
  type Source,
  sync,
  syncInOrder,
} from '../../support/harness/runs.js'
import { open, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'

let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await createSandbox({ tenants: 2, scale: 0.02, seed: 5 })
})
afterEach(() => sandbox.close())

const find = (report: RunReport, tenant: number, resource: string): CursorReport | undefined =>
  report.cursors.find((cursor) => cursor.tenant_id === tenant && cursor.resource === resource)
const others = (report: RunReport, ...failed: (CursorReport | undefined)[]): CursorReport[] =>
  report.cursors.filter((cursor) => !failed.includes(cursor))

describe.each(warehouses())('$name', (kind) => {
  it('a run that refused credentials end halfway has on record what it had stored', async () => {
    const warehouse = await open(kind)
    sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 401 } }])
    const run = syncInOrder(sandbox, warehouse, { resources: ['categories', 'notes'] })
    await expect(run).rejects.toMatchObject({ name: 'Stop', exitCode: 3 })
    const stored = (await rowsOf(warehouse, 'categories')).length
    expect(stored).toBeGreaterThan(0)
    const [recorded] = await rowsOf(warehouse, 'sync_runs')
    expect(recorded).toMatchObject({ status: 'failed', rows_upserted: stored })
    await warehouse.close()
  })

  it('an error of ours in one resource fails that one by itself, and is told from any other', async () => {
    const warehouse = await open(kind)
    const around = (source: Source): Between =>
      new Between(source, async ({ path }, ask) => {
        if (path === 'notes') throw new TypeError('planted')
        return ask()
      })
    const report = await syncInOrder(sandbox, warehouse, { around, toleratesBugs: true })
    expect(report).toMatchObject({ status: 'partial', reason: 'bug' })
    const failed = report.cursors.filter(({ status }) => status !== 'ok')
    expect(failed.map(({ resource, reason, error }) => [resource, reason, error])).toEqual(
      [101, 102].map(() => ['notes', 'bug', 'planted']),
    )
    expect(exitCodeOfRun(report)).toBe(70)
    await warehouse.close()
  })

  it('a resource that returns 500 fails by itself, and catches up when it answers again', async () => {
    const warehouse = await open(kind)
    sandbox.script([{ when: { tenant: 101, resource: 'customers' }, fault: { kind: 'status', status: 500 } }])
    const report = await sync(sandbox, warehouse)
    const failed = find(report, 101, 'customers')
    expect(report.status).toBe('partial')
    expect(failed).toMatchObject({ status: 'failed', completeness: 'unproven', watermark: null })
    expect(failed?.error).toContain('500')
    expect(others(report, failed).every((cursor) => cursor.status === 'ok')).toBe(true)
    const cursors = await rowsOf(warehouse, 'sync_cursors')
    expect(cursors.find((row) => row.tenant_id === 101 && row.resource === 'customers')).toMatchObject({
      status: 'failed',
      watermark: null,
    })
    sandbox.script([])
    expect((await sync(sandbox, warehouse)).status).toBe('ok')
    expect((await rowsOf(warehouse, 'customers')).length).toBe(
      sandbox.store.count(101, 'customers') + sandbox.store.count(102, 'customers'),
    )
    await warehouse.close()
  })

  it('a page that cannot be read leaves the pages before it stored, and the watermark where it was', async () => {
    const warehouse = await open(kind)
    for (let id = 1; id <= 250; id++)
      sandbox.store.put(101, 'notes', {
        id: 10_000 + id,
        updated_at: `2026-01-01T00:${String(id % 60).padStart(2, '0')}:00Z`,
      })
    sandbox.script([
      { when: { tenant: 101, resource: 'notes', from: 2 }, fault: { kind: 'status', status: 503 } },
    ])
    const report = await sync(sandbox, warehouse, { resources: ['notes'] })
    expect(find(report, 101, 'notes')).toMatchObject({ status: 'failed', watermark: null, records: 100 })
    expect((await rowsOf(warehouse, 'notes')).filter((row) => row.tenant_id === 101)).toHaveLength(100)
    await warehouse.close()
  })

  it('a resource that is not offered is unavailable if the tenant answers otherwise', async () => {
    const warehouse = await open(kind)
    sandbox.store.switchOff('vehicles', 101)
    const report = await sync(sandbox, warehouse)
    expect(report.status).toBe('ok')
    expect(find(report, 101, 'vehicles')).toMatchObject({ status: 'unavailable' })
    expect(find(report, 102, 'vehicles')).toMatchObject({ status: 'ok' })
    await warehouse.close()
  })

  it('a tenant that is revoked during the run fails by itself, and its rows are kept', async () => {
    const warehouse = await open(kind)
    await sync(sandbox, warehouse)
    const before = (await rowsOf(warehouse, 'customers')).length
    let lists = 0
    sandbox.onRequest(({ tenant }) => {
      if (tenant === 101 && ++lists === 2) sandbox.store.revoke(101)
    })
    const report = await sync(sandbox, warehouse, { concurrency: 1 })
    expect(report.status).toBe('partial')
    // Its other cursors aren't requested.
    expect(lists).toBe(2)
    const errors = report.cursors.filter((cursor) => cursor.status !== 'ok')
    expect(errors.length).toBeGreaterThan(0)
    expect(new Set(errors.map(({ status, reason }) => `${status} ${reason}`))).toEqual(
      new Set(['skipped revoked']),
    )
    expect(
      errors.every((cursor) => cursor.tenant_id === 101 && cursor.error?.includes('no longer granted')),
    ).toBe(true)
    expect((await rowsOf(warehouse, 'customers')).length).toBe(before)
    const tenants = await rowsOf(warehouse, 'tenants')
    expect(tenants.map((row) => [row.tenant_id, row.revoked_at !== null])).toEqual([
      [101, true],
      [102, false],
    ])
    // From then on, it isn't requested, and that is reported.
    const later = await sync(sandbox, warehouse)
    expect(later.status).toBe('partial')
    expect(
      later.cursors.filter(({ tenant_id }) => tenant_id === 101).map(({ requests }) => requests),
    ).toEqual(Array.from({ length: 21 }, () => 0))
    sandbox.store.grant(101)
    expect((await sync(sandbox, warehouse)).cursors.some((cursor) => cursor.tenant_id === 101)).toBe(true)
    expect((await rowsOf(warehouse, 'tenants'))[0]?.revoked_at).toBeNull()
    await warehouse.close()
  })

  it('records that cannot be stored count once, though some pages are read again', async () => {
    const warehouse = await open(kind)
    const day = (n: number): string => new Date(Date.UTC(2026, 0, 1) - n * 60_000).toISOString()
    // The first record of each of three pages has no id.
    for (let n = 0; n < 250; n++) {
      const record = n % 100 === 0 ? { text: `no id ${n}` } : { id: 100_000 + n, text: 'a note' }
      sandbox.store.put(101, 'notes', { ...record, updated_at: day(n), created_at: day(n) })
    }
    const report = await sync(sandbox, warehouse, { resources: ['notes'], tenants: [101] })
    expect(find(report, 101, 'notes')?.error).toBe(
      '3 records could not be stored: see shopsync quarantine list',
    )
    const rows = await rowsOf(warehouse, 'sync_quarantine')
    expect(rows.filter(({ path, resource }) => path === '' && resource === 'notes')).toHaveLength(3)
    await warehouse.close()
  })

  it('a record that cannot be stored is in quarantine, counted, and makes its cursor fail; the rest is stored', async () => {
    const warehouse = await open(kind)
    sandbox.store.put(101, 'categories', { text: 'no id', updated_at: '2026-01-01T00:00:00Z' })
    const count = sandbox.store.count(101, 'categories')
    const report = await sync(sandbox, warehouse, { resources: ['categories'] })
    expect(report).toMatchObject({ status: 'partial', quarantined: 1 })
    expect(find(report, 101, 'categories')).toMatchObject({
      status: 'failed',
      completeness: 'unproven',
      reason: 'record_unstorable',
    })
    expect(find(report, 101, 'categories')?.watermark).not.toBeNull()
    expect((await rowsOf(warehouse, 'categories')).filter((row) => row.tenant_id === 101)).toHaveLength(
      count - 1,
    )
    expect((await rowsOf(warehouse, 'sync_quarantine'))[0]).toMatchObject({ tenant_id: 101, path: '' })
    await warehouse.close()
  })

  it('a value that cannot be stored is quarantined, and cleared by a later good version', async () => {
    const warehouse = await open(kind)
    const put = (cents: unknown, at: string): void =>
      sandbox.store.put(101, 'payments', { id: 1, amount_cents: cents, updated_at: at, created_at: at })
    // Newer than the generated records, which end now.
    const second = new Date().toISOString().slice(0, 19)
    put(12.5, `${second}.000001Z`)
    const report = await sync(sandbox, warehouse, { resources: ['payments'] })
    expect(report).toMatchObject({ status: 'ok', quarantined: 1 })
    expect(await rowsOf(warehouse, 'sync_quarantine')).toMatchObject([
      { tenant_id: 101, resource: 'payments', record_id: '1', path: 'amount_cents', value: '12.5' },
    ])
    put('1200.0', `${second}.000002Z`)
    await sync(sandbox, warehouse, { resources: ['payments'] })
    expect(await rowsOf(warehouse, 'sync_quarantine')).toEqual([])
    const payment = (await rowsOf(warehouse, 'payments')).find((row) => row.id === 1)
    expect(payment).toMatchObject({ amount_cents: 1200 })
    await warehouse.close()
  })

  it('an unknown field loses no data and is reported once (law 7)', async () => {
    const warehouse = await open(kind)
    const notices: [string, Record<string, unknown>][] = []
    for (const id of [1, 2, 3])
      sandbox.store.put(101, 'notes', { id, mood: { level: id }, updated_at: `2026-11-21T00:00:0${id}Z` })
    await sync(sandbox, warehouse, { resources: ['notes'], notices })
    await sync(sandbox, warehouse, { resources: ['notes'], notices })
    const rows = (await rowsOf(warehouse, 'notes')).filter(
      (row) => row.tenant_id === 101 && Number(row.id) <= 3,
    )
    expect(rows.map((row) => row._extra)).toEqual([
      { mood: { level: 1 } },
      { mood: { level: 2 } },
      { mood: { level: 3 } },
    ])
    const drift = await rowsOf(warehouse, 'sync_drift')
    expect(drift.filter((row) => row.path === 'mood')).toHaveLength(1)
    expect(notices.filter(([, fields]) => String(fields.found).includes('mood'))).toHaveLength(1)
    await warehouse.close()
  })
})
