/** Quarantine: what becomes of values and records that can't be stored; test/transcripts/quarantine.txt shows its words. */
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { replay } from '../../support/harness/commands.js'
import { model } from '../../support/harness/model.js'
import { type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, openAt, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
const begin = (): void => {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
}
const run = (warehouse: Warehouse, resource: string, more: RunOptions = {}) =>
  sync(sandbox, warehouse, { resources: [resource], ...more })
/** The records in quarantine, in order: `1 amount_cents`, or `3` for a whole one. */
const aside = async (warehouse: Warehouse): Promise<string[]> =>
  (await rowsOf(warehouse, 'sync_quarantine'))
    .map(({ record_id, path }) => `${String(record_id).slice(0, 1)} ${path}`.trim())
    .sort()

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

  it('stores what can be stored by now, and reports the outcome of the rest', async () => {
    begin()
    const warehouse = await stock.open()
    const put = (id: unknown, fields: object, key = Number(id) || 99): void =>
      sandbox.store.put(1, 'payments', { id, updated_at: '2026-11-01T00:00:00Z', ...fields }, { key })
    put(1, { amount_cents: 12.5 })
    put(2, { amount_cents: 'a lot' })
    put(3, { updated_at: 'yesterday' })
    put(null, { amount_cents: 5 })
    await run(warehouse, 'payments')
    expect(await aside(warehouse)).toEqual(['1 amount_cents', '2 amount_cents', '3', '?'])
    put(1, { amount_cents: 1250 })
    sandbox.store.remove(1, 'payments', 2)
    put(3, { updated_at: '2026-11-02T00:00:00Z' })
    const outcomes = (await replay(sandbox, warehouse)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['stored', 'gone', 'stored', 'unreachable'])
    const rows = await rowsOf(warehouse, 'payments')
    expect(rows.map((row) => [row.id, row.amount_cents])).toEqual([
      [1, 1250],
      [2, null],
      [3, null],
    ])
    expect(await aside(warehouse)).toEqual(['2 amount_cents', '?'])
    // A record without an id is dropped when a walk of everything no longer shows it.
    put(4, {}, 99)
    await run(warehouse, 'payments', { mode: 'full' })
    expect(await aside(warehouse)).toEqual(['2 amount_cents'])
  })

  it('counts a value once, however many requests have shown it', async () => {
    begin()
    const warehouse = await stock.open()
    for (let id = 1; id <= 150; id++) {
      const updated_at = `2026-11-01T0${Math.floor(id / 60)}:${String(id % 60).padStart(2, '0')}:00Z`
      sandbox.store.put(1, 'payments', { id, updated_at, amount_cents: id === 150 ? 12.5 : id })
    }
    for (const mode of ['sync', 'full', 'reconcile'] as const) {
      sandbox.resetRequests()
      const report = await run(warehouse, 'payments', { mode, full: true })
      const shown = sandbox.requests.filter(({ resource, page }) => resource === 'payments' && page === 1)
      expect(shown.length).toBeGreaterThan(1)
      expect([mode, report.quarantined]).toEqual([mode, 1])
    }
    const cursors = await rowsOf(warehouse, 'sync_run_cursors')
    expect(cursors.map(({ quarantined }) => quarantined)).toEqual([1, 1, 1])
  })

  it('a field that gets a column is no longer drift', async () => {
    begin()
    const address = kind.address()
    const before = await openAt(address)
    const put = (id: number): void =>
      sandbox.store.put(1, 'notes', { id, mood: 'good', luck: 1, updated_at: '2026-11-01T00:00:00Z' })
    put(1)
    await run(before, 'notes')
    const drift = async (): Promise<unknown[]> => (await rowsOf(before, 'sync_drift')).map(({ path }) => path)
    expect(await drift()).toEqual(['luck', 'mood'])
    const known = model(resources, { notes: { columns: { mood: 'text' } } })
    const after = await openAt(address, known)
    for (const id of [1, 2]) {
      put(id)
      await run(after, 'notes', { known })
      expect(await drift()).toEqual(['luck'])
    }
  })

  it('a record that could not be stored fails only the runs that see it, until a replay finds it well or gone', async () => {
    begin()
    const warehouse = await stock.open()
    const put = (id: number, minute: number, more: object = {}): void => {
      const at = `2026-11-01T00:${minute}:00Z`
      sandbox.store.put(1, 'notes', { id, updated_at: at, ...more }, { key: id, at })
    }
    for (let id = 1; id <= 120; id++) put(id, 10 + Math.floor(id / 3))
    for (const id of [200, 300]) put(id, 30, { updated_at: 'yesterday' })
    const cursor = async () => (await run(warehouse, 'notes')).cursors[0]
    expect(await cursor()).toMatchObject({
      status: 'failed',
      completeness: 'unproven',
      reason: 'record_unstorable',
      watermark: '2026-11-01T00:50:00.000000Z',
    })
    expect(await cursor()).toMatchObject({ status: 'ok', completeness: 'proven', reason: null })
    put(200, 30)
    sandbox.store.remove(1, 'notes', 300)
    // As long as the source answers 404 for every id, its fate is unknown.
    sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 404 } }])
    for (const { detail } of await replay(sandbox, warehouse))
      expect(detail).toContain('does not answer by id')
    expect(await aside(warehouse)).toEqual(['2', '3'])
    sandbox.script([])
    expect(await replay(sandbox, warehouse)).toMatchObject([
      { record_id: '200', outcome: 'stored' },
      { record_id: '300', outcome: 'gone' },
    ])
    expect(await aside(warehouse)).toEqual([])
  })
})
