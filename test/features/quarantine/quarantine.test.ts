import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { listQuarantine, replayQuarantine } from '../../../src/features/quarantine/work.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { model } from '../../support/harness/model.js'
import { depsOf, sync } from '../../support/harness/runs.js'
import { bothWarehouses, migrate, open, reopen, rowsOf } from '../../support/harness/warehouse.js'

let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await createSandbox({ data: 'none', tenants: [{ id: 1 }] })
})
afterEach(() => sandbox.close())
const everything = { tenants: null, resources: null }

describe.each(bothWarehouses())('$name', (kind) => {
  it('stores what can be stored by now, and reports the outcome of the rest', async () => {
    const warehouse = await open(kind)
    const put = (id: unknown, fields: object): void =>
      sandbox.store.put(
        1,
        'payments',
        { id, updated_at: '2026-11-01T00:00:00Z', ...fields },
        { key: Number(id) || 99 },
      )
    put(1, { amount_cents: 12.5 })
    put(2, { amount_cents: 'a lot' })
    put(3, { updated_at: 'yesterday' })
    put(null, { amount_cents: 5 })
    await sync(sandbox, warehouse, { resources: ['payments'] })
    expect(
      (await listQuarantine(warehouse, everything)).map((row) => [row.record_id.slice(0, 1), row.path]),
    ).toEqual([
      ['1', 'amount_cents'],
      ['2', 'amount_cents'],
      ['3', ''],
      ['?', ''],
    ])
    put(1, { amount_cents: 1250 })
    sandbox.store.remove(1, 'payments', 2)
    put(3, { updated_at: '2026-11-02T00:00:00Z' })
    const { deps, close } = await depsOf(sandbox, warehouse)
    const outcomes = await replayQuarantine(deps, everything)
    await close()
    expect(outcomes.map((one) => one.outcome)).toEqual(['stored', 'gone', 'stored', 'unreachable'])
    const rows = await rowsOf(warehouse, 'payments')
    expect(rows.map((row) => [row.id, row.amount_cents])).toEqual([
      [1, 1250],
      [2, null],
      [3, null],
    ])
    expect((await listQuarantine(warehouse, everything)).map((row) => row.record_id.slice(0, 1))).toEqual([
      '2',
      '?',
    ])
    // A record without an id is dropped when a walk of everything no longer shows it.
    sandbox.store.put(1, 'payments', { id: 4, updated_at: '2026-11-01T00:00:00Z' }, { key: 99 })
    await sync(sandbox, warehouse, { resources: ['payments'], mode: 'full' })
    expect((await listQuarantine(warehouse, everything)).map((row) => row.record_id)).toEqual(['2'])
    await warehouse.close()
  })

  it('counts a value once, however many requests have shown it', async () => {
    const warehouse = await open(kind)
    for (let id = 1; id <= 150; id++) {
      const updated_at = `2026-11-01T0${Math.floor(id / 60)}:${String(id % 60).padStart(2, '0')}:00Z`
      sandbox.store.put(1, 'payments', { id, updated_at, amount_cents: id === 150 ? 12.5 : id })
    }
    for (const mode of ['sync', 'full', 'reconcile'] as const) {
      sandbox.resetRequests()
      const report = await sync(sandbox, warehouse, { resources: ['payments'], mode, full: true })
      const shown = sandbox.requests.filter(({ resource, page }) => resource === 'payments' && page === 1)
      expect(shown.length).toBeGreaterThan(1)
      expect([mode, report.quarantined]).toEqual([mode, 1])
    }
    const cursors = await rowsOf(warehouse, 'sync_run_cursors')
    expect(cursors.map(({ quarantined }) => quarantined)).toEqual([1, 1, 1])
    await warehouse.close()
  })

  it('a field that gets a column is no longer drift', async () => {
    const address = kind.address()
    const before = await reopen(address)
    await migrate(before)
    const put = (id: number): void =>
      sandbox.store.put(1, 'notes', { id, mood: 'good', luck: 1, updated_at: '2026-11-01T00:00:00Z' })
    put(1)
    await sync(sandbox, before, { resources: ['notes'] })
    const drift = async (): Promise<unknown[]> => (await rowsOf(before, 'sync_drift')).map(({ path }) => path)
    expect(await drift()).toEqual(['luck', 'mood'])
    const promoting = model(resources, {
      notes: { enabled: true, path: undefined, columns: { mood: 'text' } },
    })
    const after = await reopen(address, promoting)
    await migrate(after)
    await sync(sandbox, after, { resources: ['notes'], known: promoting })
    expect(await drift()).toEqual(['luck'])
    put(2)
    await sync(sandbox, after, { resources: ['notes'], known: promoting })
    expect(await drift()).toEqual(['luck'])
    await after.close()
    await before.close()
  })

  it.each([
    ['well', 'stored'],
    ['gone', 'gone'],
  ] as const)(
    'a record that could not be stored fails only the runs that see it; a replay finds it %s',
    async (end, outcome) => {
      const warehouse = await open(kind)
      for (let id = 1; id <= 120; id++)
        sandbox.store.put(1, 'notes', {
          id,
          updated_at: `2026-11-01T00:${String(10 + Math.floor(id / 3)).padStart(2, '0')}:00Z`,
        })
      sandbox.store.put(
        1,
        'notes',
        { id: 200, updated_at: 'yesterday' },
        { key: 200, at: '2026-11-01T00:30:00Z' },
      )
      const run = async () =>
        (await sync(sandbox, warehouse, { resources: ['notes'] })).cursors.find(
          ({ tenant_id }) => tenant_id === 1,
        )
      const failing = { status: 'failed', completeness: 'unproven', reason: 'record_unstorable' } as const
      expect(await run()).toMatchObject({ ...failing, watermark: '2026-11-01T00:50:00.000000Z' })
      expect(await run()).toMatchObject({ status: 'ok', completeness: 'proven', reason: null })
      if (end === 'gone') sandbox.store.remove(1, 'notes', 200)
      else sandbox.store.put(1, 'notes', { id: 200, updated_at: '2026-11-01T00:30:00Z' }, { key: 200 })
      const { deps, close } = await depsOf(sandbox, warehouse)
      // As long as the source answers 404 for every id, its fate is unknown.
      sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 404 } }])
      const [unknown] = await replayQuarantine(deps, everything)
      expect(unknown?.detail).toContain('does not answer by id')
      expect(await listQuarantine(warehouse, everything)).toHaveLength(1)
      sandbox.script([])
      expect(await replayQuarantine(deps, everything)).toMatchObject([{ record_id: '200', outcome }])
      await close()
      expect(await listQuarantine(warehouse, everything)).toEqual([])
      await warehouse.close()
    },
  )
})
