/** Verify: reports exactly what differs, and writes nothing at all. */
import { describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { runVerify, type VerifyReport } from '../../../src/features/reconcile/verifywork.js'
import { verifyText } from '../../../src/features/reconcile/words.js'
import { createSandbox, type Sandbox, serviceTemplate, template } from '../../../src/sandbox/index.js'
import { depsOf, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { contents, open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { at, fill, lose } from '../../support/world/notes.js'
import { randomFrom } from '../../support/world/random.js'
import { sized } from '../../support/world/size.js'

const sandbox = await sandboxOfFile()
/** More than the walk that catches up reads, so that ranges are counted. */
const many = sized(1500, 5000)

async function verify(
  warehouse: Warehouse,
  options: { full?: boolean; sample?: number; resources?: readonly string[]; from?: Sandbox } = {},
): Promise<VerifyReport> {
  const { full = false, sample = 0, resources = ['notes'], from = sandbox } = options
  const { deps, close } = await depsOf(from, warehouse)
  try {
    return await runVerify({ ...deps, random: randomFrom(3) }, { tenants: null, resources }, { full, sample })
  } finally {
    await close()
  }
}

describe.each(warehouses())('$name', (kind) => {
  async function prepared(count: number, resource = 'notes'): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count, { resource })
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: [resource] })
    sandbox.resetRequests()
    return warehouse
  }

  it.each([0, 60, 450, many])('%i equal records are called equal', async (count) => {
    const warehouse = await prepared(count)
    const report = await verify(warehouse)
    expect(report.status).toBe('equal')
    expect(report.cursors[0]).toMatchObject({
      missing: 0,
      outdated: 0,
      extra: 0,
      source: count,
      warehouse: count,
    })
    await warehouse.close()
  })

  it.each([
    [60, false],
    [450, false],
    [many, false],
    [many, true],
  ])(
    'counts what is missing, outdated and extra among %i (full: %s), and writes nothing',
    async (count, full) => {
      const warehouse = await prepared(count)
      await lose(warehouse, [2, 3])
      // Among 60, the catch-up walk also reads record 25, which the warehouse once had.
      for (const id of [count - 1, count - 20]) sandbox.store.remove(1, 'notes', id)
      // One that a sync would fetch, and one that no sync would.
      sandbox.store.put(1, 'notes', { ...template('notes', 11, at(900_000)), description: 'new' })
      await warehouse.write([
        warehouse.db
          .updateTable('notes')
          .set({ updated_at: at(25 * 7 - 3) })
          .where('id', '=', 25)
          .compile(),
      ])
      const before = await everything(warehouse)
      const report = await verify(warehouse, { full })
      expect(report.status).toBe('differs')
      expect(report.cursors[0]).toMatchObject({
        status: 'differs',
        ...{ missing: 2, outdated: 1, extra: 0, newer: 1, gone: 2 },
      })
      expect(await everything(warehouse)).toEqual(before)
      await warehouse.close()
    },
  )

  it('--sample counts what it compared, and nothing compared is no success', async () => {
    const warehouse = await prepared(30)
    const unanswered = { when: { kind: 'item' as const }, fault: { kind: 'status' as const, status: 404 } }
    sandbox.script([{ ...unanswered, times: 5 }])
    const some = await verify(warehouse, { sample: 20 })
    expect(some).toMatchObject({ status: 'equal', cursors: [{ sampled: 20, asked: 20, compared: 15 }] })
    expect(verifyText(some)).toContain('15 of 20 sampled records compared field by field')
    const falsified = warehouse.db
      .updateTable('notes' as 'tenants')
      .set({ description: 'falsified' } as object)
    await warehouse.write([falsified.compile()])
    sandbox.script([unanswered])
    const none = await verify(warehouse, { sample: 20 })
    expect(none).toMatchObject({
      status: 'failed',
      cursors: [{ status: 'failed', asked: 20, compared: 0, other_version: 0, differences: [] }],
    })
    expect(verifyText(none)).toMatch(/None of the 20 sampled records .* expected .* Type shopsync verify/)
    expect(verifyText(none)).not.toContain('field by field')
    // A reconcile has found out that the source doesn't answer by id: no record is requested.
    const refusedAt = String((await rowsOf(warehouse, 'sync_cursors'))[0]?.last_success_at)
    const refused = warehouse.db.updateTable('sync_cursors').set({ by_id_refused_at: refusedAt })
    await warehouse.write([refused.compile()])
    sandbox.resetRequests()
    const unasked = await verify(warehouse, { sample: 20 })
    expect(unasked.cursors).toMatchObject([{ status: 'failed', sampled: 20, asked: 0, compared: 0 }])
    expect(verifyText(unasked)).toMatch(/None of the 20 sampled records .*: none was requested/)
    await warehouse.close()
  })

  it('--sample has nothing to compare of a record that is gone', async () => {
    const warehouse = await prepared(1)
    sandbox.store.remove(1, 'notes', 1)
    sandbox.store.put(1, 'notes', { ...template('notes', 2, at(900_000)), description: 'new' })
    const report = await verify(warehouse, { sample: 20 })
    expect(report.cursors).toMatchObject([{ status: 'equal', gone: 1, newer: 1, sampled: 0 }])
    await warehouse.close()
  })

  it('--sample finds one changed field in a record and in its nested arrays, which no count can show', async () => {
    const warehouse = await prepared(30, 'repair_orders')
    expect(await verify(warehouse, { resources: ['repair_orders'], sample: 30 })).toMatchObject({
      status: 'equal',
    })
    const record = { ...template('repair_orders', 7, at(49, (7 * 7919) % 1_000_000)), odometer: 99 }
    const service = { ...serviceTemplate(70, at(1)), title: 'Another title' }
    sandbox.store.put(1, 'repair_orders', { ...record, services: [service] })
    expect(await verify(warehouse, { resources: ['repair_orders'] })).toMatchObject({ status: 'equal' })
    const report = await verify(warehouse, { resources: ['repair_orders'], sample: 30 })
    expect(report.status).toBe('differs')
    const found = report.cursors[0]?.differences ?? []
    expect(found).toContainEqual({
      table: 'repair_orders',
      row: '7',
      column: 'odometer',
      warehouse: '7',
      source: '99',
    })
    expect(found).toContainEqual({
      table: 'repair_order_services',
      row: '7/70',
      column: 'title',
      warehouse: 'title 70',
      source: 'Another title',
    })
    await warehouse.close()
  })

  it('compares whole shops, all resources and fields, and finds them equal', async () => {
    const shops = await createSandbox({ tenants: 1, scale: 0.05, seed: 9 })
    const warehouse = await open(kind)
    await sync(shops, warehouse, {})
    const report = await verify(warehouse, {
      from: shops,
      resources: [...new Set(shops.store.resources)],
      sample: 20,
    })
    expect(report.cursors.filter((cursor) => cursor.status !== 'equal')).toEqual([])
    shops.work(60)
    // The shops keep working: no difference.
    const living = await verify(warehouse, { from: shops, resources: shops.store.resources, sample: 20 })
    expect(living.status).toBe('equal')
    expect(living.cursors.reduce((sum, { newer = 0 }) => sum + newer, 0)).toBeGreaterThan(0)
    await sync(shops, warehouse, { mode: 'reconcile' })
    const after = await verify(warehouse, { from: shops, resources: shops.store.resources, sample: 20 })
    expect(after.cursors.filter((cursor) => cursor.status !== 'equal')).toEqual([])
    await warehouse.close()
    await shops.close()
  })

  describe('only checks what a cursor claims', () => {
    const when = async (warehouse: Warehouse, set: Record<string, string | null>): Promise<unknown> =>
      warehouse.write([warehouse.db.updateTable('sync_cursors').set(set).compile()])

    it.each([
      [60, false],
      [many, false],
      [many, true],
    ])(
      'of %i records (full: %s), what came, changed and went since is counted separately',
      async (count, full) => {
        const warehouse = await prepared(count)
        fill(sandbox, 3, { from: 900_000 })
        sandbox.store.put(1, 'notes', template('notes', 5, at(9_000_000)))
        for (const id of [7, count - 3]) sandbox.store.remove(1, 'notes', id)
        const counts = { missing: 0, outdated: 0, extra: 0, newer: 4, gone: 2, differences: [] }
        expect((await verify(warehouse, { full, sample: 10 })).cursors[0]).toMatchObject({
          status: 'equal',
          ...counts,
        })
        // Deletions that were not checked for long are differences.
        await when(warehouse, { deletes_checked_at: '2020-01-01T00:00:00.000000Z' })
        expect((await verify(warehouse, { full })).cursors[0]).toMatchObject({
          status: 'differs',
          ...{ ...counts, extra: 2, gone: 0 },
        })
        // So are they after a first load long ago.
        await when(warehouse, { deletes_checked_at: null })
        await warehouse.write([
          warehouse.db
            .updateTable('sync_run_cursors')
            .set({ started_at: '2020-01-01T00:00:00.000000Z' })
            .compile(),
        ])
        expect((await verify(warehouse, { full })).cursors[0]).toMatchObject({ extra: 2, gone: 0 })
        await warehouse.close()
      },
    )

    it('what the catch-up walk finds is newer if it came late, and missing if the warehouse once had it', async () => {
      const warehouse = await prepared(3000)
      sandbox.store.put(1, 'notes', template('notes', 900_000, at(7 * 3000 - 60)))
      await lose(warehouse, [2998])
      expect((await verify(warehouse)).cursors[0]).toMatchObject({ status: 'differs', missing: 1, newer: 1 })
      await warehouse.close()
    })

    it('a version above complete_through is newer, one below it that the warehouse lacks is missing', async () => {
      const warehouse = await prepared(3000)
      // If the watermark is far above, no walk finds it.
      await when(warehouse, { complete_through: at(7 * 2000) })
      await lose(warehouse, [2500, 1500])
      expect((await verify(warehouse)).cursors[0]).toMatchObject({ status: 'differs', missing: 1, newer: 1 })
      await when(warehouse, { complete_through: null })
      expect((await verify(warehouse)).cursors[0]).toMatchObject({ status: 'differs', missing: 2, newer: 0 })
      await warehouse.close()
    })

    it('a time limit is reported, and no next run that would resume is promised', async () => {
      const warehouse = await prepared(60)
      const limit = new AbortController()
      const around = (source: Source): Source =>
        new Between(source, (_, ask) => {
          limit.abort(new Stop('time is over', { exitCode: 1, code: 'time_limit' }))
          return ask()
        })
      const { deps, close } = await depsOf(sandbox, warehouse, { signal: limit.signal, around })
      const options = { full: false, sample: 0 }
      const report = await runVerify(deps, { tenants: [1], resources: ['notes'] }, options).finally(close)
      expect(report).toMatchObject({
        status: 'failed',
        cursors: [{ status: 'skipped', reason: 'time_limit' }],
      })
      expect(report.cursors[0]?.error).toMatch(/time limit ended the run; verify keeps no progress: give it/)
      await warehouse.close()
    })

    it('a cursor that was never synced is skipped; if there is no other, nothing is called equal', async () => {
      const warehouse = await prepared(60)
      fill(sandbox, 10, { resource: 'vehicles' })
      const both = await verify(warehouse, { resources: ['notes', 'vehicles'] })
      expect(both.status).toBe('equal')
      expect(Object.fromEntries(both.cursors.map(({ resource, status }) => [resource, status]))).toEqual({
        notes: 'equal',
        vehicles: 'skipped',
      })
      expect(await verify(warehouse, { resources: ['vehicles'] })).toMatchObject({
        status: 'failed',
        cursors: [{ status: 'skipped', error: expect.stringContaining('Type shopsync sync') }],
      })
      await warehouse.close()
    })
  })

  it('names a record that cannot be stored, which no reconcile repairs', async () => {
    const warehouse = await prepared(60)
    const broken = { ...template('notes', 900_000, at(1)), updated_at: null }
    sandbox.store.put(1, 'notes', broken, { key: 900_000, at: at(1) })
    const report = await verify(warehouse, { full: true })
    expect(report).toMatchObject({ status: 'differs', cursors: [{ missing: 0, unstorable: 1 }] })
    const text = verifyText(report)
    expect(text).toContain('1 record cannot be stored: see shopsync quarantine list')
    expect(text).not.toContain('shopsync reconcile')
    await warehouse.close()
  })

  it.each([false, true])(
    'a list that never shows most of its records is not equal (full: %s)',
    async (full) => {
      const warehouse = await prepared(0)
      fill(sandbox, 300)
      for (let id = 1; id <= 200; id++) sandbox.store.collection(1, 'notes').odd.hidden.add(id)
      for (let i = 0; i < 2; i++)
        await sync(sandbox, warehouse, { resources: ['notes'], mode: 'reconcile', full: true })
      const report = await verify(warehouse, { full })
      expect(report.status).not.toBe('equal')
      expect(report.cursors).toMatchObject([{ reason: 'counted_not_shown' }])
      await warehouse.close()
    },
  )

  it('compares plain lists of names', async () => {
    const warehouse = await prepared(0)
    sandbox.store.tenant(1).strings.set('customer_payment_types', ['Gift card', 'Barter'])
    await sync(sandbox, warehouse, { resources: ['customer_payment_types'] })
    const resources = ['customer_payment_types']
    expect((await verify(warehouse, { resources })).status).toBe('equal')
    sandbox.store.tenant(1).strings.set('customer_payment_types', ['Gift card', 'Check', 'Fleet'])
    expect((await verify(warehouse, { resources })).cursors[0]).toMatchObject({
      status: 'equal',
      ...{ missing: 0, extra: 0, newer: 2, gone: 1 },
    })
    await warehouse.write([
      warehouse.db
        .updateTable('sync_cursors')
        .set({ last_success_at: '2020-01-01T00:00:00.000000Z' })
        .compile(),
    ])
    expect((await verify(warehouse, { resources })).cursors[0]).toMatchObject({
      status: 'differs',
      ...{ missing: 0, extra: 1, newer: 2, gone: 0 },
    })
    await warehouse.close()
  })

  async function everything(warehouse: Warehouse): Promise<unknown> {
    const state = [
      'tenants',
      'sync_cursors',
      'sync_runs',
      'sync_run_cursors',
      'sync_lease',
      'sync_quarantine',
    ]
    return [await contents(warehouse), await Promise.all(state.map((table) => rowsOf(warehouse, table)))]
  }
})
