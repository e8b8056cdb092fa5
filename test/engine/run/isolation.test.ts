/** Promise 4: one record, one page, one resource or one tenant that fails doesn't stop the others. */
import { beforeEach, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { type RunOptions, type RunReport, type Source, syncInOrder } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'

const sandbox = await sandboxOfFile()
const resources = ['categories', 'notes', 'vehicles']
const at = (n: number): string => new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString()

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  /** Two tenants with three records of each resource. */
  beforeEach(async () => {
    sandbox.reset()
    for (const tenant of [101, 102]) {
      sandbox.store.addTenant({ id: tenant })
      for (const resource of resources)
        for (let id = 1; id <= 3; id++) sandbox.store.put(tenant, resource, template(resource, id, at(id)))
    }
    warehouse = await place.open()
  })

  const run = (options: RunOptions = {}): Promise<RunReport> =>
    syncInOrder(sandbox, warehouse, { resources, ...options })
  /** All cursors are well, but those of tenant 101 and this resource. */
  function expectOnly({ cursors }: RunReport, resource: string, expected: object): void {
    for (const cursor of cursors) {
      const isStruck = cursor.tenant_id === 101 && cursor.resource === resource
      expect(cursor).toMatchObject(isStruck ? expected : { status: 'ok', completeness: 'proven' })
    }
  }

  it('a run that refused credentials end halfway has on record what it had stored', async () => {
    sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 401 } }])
    await expect(run()).rejects.toMatchObject({ name: 'Stop', exitCode: 3 })
    const stored = (await rowsOf(warehouse, 'categories')).length
    expect(stored).toBeGreaterThan(0)
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([{ status: 'failed', rows_upserted: stored }])
  })

  it('an error of ours in one resource fails that one by itself, and is told from any other', async () => {
    const around = (source: Source): Between =>
      new Between(source, async ({ path, tenantId }, ask) => {
        if (path === 'notes' && tenantId === 101) throw new TypeError('planted')
        return ask()
      })
    const report = await run({ around, toleratesBugs: true })
    expect(report).toMatchObject({ status: 'partial', reason: 'bug' })
    expectOnly(report, 'notes', { status: 'failed', reason: 'bug', error: 'planted' })
  })

  it('a page that cannot be read leaves the pages before it stored, and the watermark where it was', async () => {
    for (let id = 1; id <= 250; id++) sandbox.store.put(101, 'notes', template('notes', 10_000 + id, at(id)))
    sandbox.script([
      { when: { tenant: 101, resource: 'notes', from: 2 }, fault: { kind: 'status', status: 503 } },
    ])
    const failed = { status: 'failed', completeness: 'unproven', watermark: null, records: 100 }
    const report = await run()
    expect(report.status).toBe('partial')
    expectOnly(report, 'notes', { ...failed, error: expect.stringContaining('503') })
    expect((await rowsOf(warehouse, 'notes')).filter((row) => row.tenant_id === 101)).toHaveLength(100)
    const states = await rowsOf(warehouse, 'sync_cursors')
    const state = states.find((row) => row.tenant_id === 101 && row.resource === 'notes')
    expect(state).toMatchObject({ status: 'failed', watermark: null })
    sandbox.script([])
    expect((await run()).status).toBe('ok')
    expect((await rowsOf(warehouse, 'notes')).filter((row) => row.tenant_id === 101)).toHaveLength(253)
  })

  it('a tenant that is revoked during the run fails by itself, and is not requested from then on', async () => {
    await run()
    let lists = 0
    sandbox.onRequest(({ tenant }) => {
      if (tenant === 101 && ++lists === 2) sandbox.store.revoke(101)
    })
    const { status, cursors } = await run()
    expect([status, lists]).toEqual(['partial', 2])
    const left = cursors.filter((cursor) => cursor.status !== 'ok')
    expect(left.length).toBeGreaterThan(0)
    for (const cursor of left)
      expect(cursor).toMatchObject({ tenant_id: 101, status: 'skipped', reason: 'revoked' })
    expect(await rowsOf(warehouse, 'notes')).toHaveLength(6)
  })

  it('records that cannot be stored are counted once, though some pages are read again; the rest is stored', async () => {
    // The first record of each of three pages has no id.
    for (let n = 0; n < 250; n++) {
      const record = n % 100 === 0 ? { text: `no id ${n}` } : { id: 100_000 + n, text: 'a note' }
      sandbox.store.put(101, 'notes', { ...record, updated_at: at(1000 - n), created_at: at(1000 - n) })
    }
    const report = await run()
    expect(report).toMatchObject({ status: 'partial', quarantined: 3 })
    const failed = { status: 'failed', reason: 'record_unstorable', watermark: expect.any(String) }
    expectOnly(report, 'notes', {
      ...failed,
      error: '3 records could not be stored: see shopsync quarantine list',
    })
    expect((await rowsOf(warehouse, 'notes')).filter((row) => row.tenant_id === 101)).toHaveLength(250)
    const told = (await rowsOf(warehouse, 'sync_quarantine')).map(({ tenant_id, path }) => [tenant_id, path])
    expect(told).toEqual([1, 2, 3].map(() => [101, '']))
  })

  it('a value that cannot be stored is quarantined, and cleared by a later good version', async () => {
    const put = (cents: unknown, n: number): void =>
      sandbox.store.put(101, 'payments', { id: 1, amount_cents: cents, updated_at: at(n), created_at: at(n) })
    put(12.5, 1)
    const only = { resources: ['payments'] }
    expect(await run(only)).toMatchObject({ status: 'ok', quarantined: 1 })
    expect(await rowsOf(warehouse, 'sync_quarantine')).toMatchObject([
      { tenant_id: 101, resource: 'payments', record_id: '1', path: 'amount_cents', value: '12.5' },
    ])
    put('1200.0', 2)
    await run(only)
    expect(await rowsOf(warehouse, 'sync_quarantine')).toEqual([])
    expect(await rowsOf(warehouse, 'payments')).toMatchObject([{ amount_cents: 1200 }])
  })
})
