/** Reconcile: deletions at the source and records missing from the warehouse are found by counting, and fixed. */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import {
  at,
  atSource,
  fill,
  listed,
  live,
  liveIds,
  lose,
  only,
  reconcile,
} from '../../support/world/notes.js'
import { isWhole } from '../../support/world/size.js'

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  async function prepared(
    count: number,
    options: { gap?: number; resource?: string } = {},
  ): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count, options)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: [options.resource ?? 'notes'] })
    sandbox.resetRequests()
    return warehouse
  }

  it.each([
    [0, 2],
    [1, 2],
    [99, 2],
    [100, 3],
    [350, 6],
    [600, 8],
    [3000, 8],
  ])('of %i records without differences costs %i requests, including the walk', async (count, requests) => {
    const warehouse = await prepared(count)
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)).toMatchObject({
      status: 'ok',
      completeness: 'proven',
      requests,
      rows_upserted: 0,
      rows_deleted: 0,
    })
    expect(listed(sandbox)).toBe(requests)
    await warehouse.close()
  })

  it('finds deletions and lost rows, wherever they are', async () => {
    const count = isWhole() ? 20_000 : 5000
    const warehouse = await prepared(count)
    for (const id of [1, 1000, 2500]) sandbox.store.remove(1, 'notes', id)
    await lose(warehouse, [count - 1200, count - 500])
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)).toMatchObject({
      status: 'ok',
      rows_deleted: 3,
      reconciled: { method: 'counting', deleted: 3, stored: 2, source: count - 3, warehouse: count - 3 },
    })
    expect(only(report)?.requests).toBeLessThan(100)
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    const rows = await rowsOf(warehouse, 'notes')
    expect(rows.find((row) => row.id === 2500)?._deleted_at).toBe(
      rows.find((row) => row.id === 2500)?._synced_at,
    )
    await warehouse.close()
  })

  it('finds a lost row and a deletion that cancel out in the total', async () => {
    const warehouse = await prepared(3000)
    sandbox.store.remove(1, 'notes', 300)
    await lose(warehouse, [2700])
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)?.reconciled).toMatchObject({ deleted: 1, stored: 1 })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    await warehouse.close()
  })

  it('--full also finds those that cancel out between any two cut points and that no register knows', async () => {
    const warehouse = await prepared(isWhole() ? 9000 : 3000)
    sandbox.store.remove(1, 'notes', 1500)
    await lose(warehouse, [1501])
    await warehouse.write([warehouse.db.updateTable('sync_registers').set({ live_rows: null }).compile()])
    const counted = await reconcile(sandbox, warehouse)
    expect(only(counted)?.reconciled).toMatchObject({ deleted: 0, stored: 0 })
    const report = await reconcile(sandbox, warehouse, { full: true })
    expect(only(report)).toMatchObject({
      status: 'ok',
      completeness: 'proven',
      reconciled: { method: 'listing', deleted: 1, stored: 1 },
    })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    await warehouse.close()
  })

  it('fixes a missed version, although no count of the total shows it', async () => {
    const warehouse = await prepared(1000)
    const { db } = warehouse
    sandbox.store.put(1, 'notes', { ...template('notes', 500, at(6000)), description: 'newer' })
    const state = { watermark: at(9000) }
    await warehouse.write([
      db.updateTable('sync_cursors').set(state).where('resource', '=', 'notes').compile(),
    ])
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)).toMatchObject({ status: 'ok', watermark: at(9000) })
    expect((await live(warehouse)).get(500)).toBe(at(6000))
    await warehouse.close()
  })

  it('restores a record that came back, whether it changed or not', async () => {
    const warehouse = await prepared(1000)
    const kept = [100, 600].map((id) => sandbox.store.stored(1, 'notes', id)!)
    for (const id of [100, 600]) sandbox.store.remove(1, 'notes', id)
    await reconcile(sandbox, warehouse)
    expect(await liveIds(warehouse)).not.toContain(100)
    sandbox.store.put(1, 'notes', kept[0]!)
    sandbox.store.put(1, 'notes', { ...kept[1]!, updated_at: at(100_000) })
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)?.status).toBe('ok')
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    await warehouse.close()
  })

  it('lists everything if more differs than counting is worth', async () => {
    const warehouse = await prepared(2000)
    for (let id = 3; id <= 2000; id += 9) sandbox.store.remove(1, 'notes', id)
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)).toMatchObject({ status: 'ok', reconciled: { method: 'listing', deleted: 222 } })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    await warehouse.close()
  })

  it('stops if more than a fifth is gone, and continues when told to', async () => {
    const warehouse = await prepared(1000)
    for (let id = 1; id <= 300; id++) sandbox.store.remove(1, 'notes', id)
    sandbox.resetRequests()
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)).toMatchObject({ status: 'failed', rows_deleted: 0 })
    expect(only(report)?.error).toMatch(/300 records of 1000 \(30%\).*--accept-deletes/s)
    expect(sandbox.requests.filter((line) => line.id !== null).length).toBeLessThan(30)
    expect(await liveIds(warehouse)).toHaveLength(1000)
    const accepted = await reconcile(sandbox, warehouse, { acceptDeletes: true })
    expect(only(accepted)).toMatchObject({ status: 'ok', rows_deleted: 300 })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    await warehouse.close()
  })

  it('a list that is suddenly empty marks nothing deleted', async () => {
    const warehouse = await prepared(500)
    sandbox.script([{ when: { resource: 'notes', kind: 'list' }, fault: { kind: 'empty' } }])
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)?.status).toBe('failed')
    expect((await liveIds(warehouse)).length).toBe(500)
    await warehouse.close()
  })

  it('a tie of a thousand records is compared as one, in whatever order the source returns them', async () => {
    const warehouse = await prepared(800)
    for (let id = 2001; id <= 3000; id++) sandbox.store.put(1, 'notes', template('notes', id, at(50_000, 5)))
    await sync(sandbox, warehouse, { resources: ['notes'] })
    sandbox.store.shuffleTies = true
    for (const id of [2100, 2200]) sandbox.store.remove(1, 'notes', id)
    await lose(warehouse, [2300, 2400, 2500])
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)?.status).toBe('ok')
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    await warehouse.close()
  })

  it('tags inside other records are reconciled by their own cursor', async () => {
    const warehouse = await prepared(0)
    const tag = (id: number) => template('integrator_tags', id, at(id))
    for (const id of [1, 2, 3]) sandbox.store.put(1, 'integrator_tags', tag(id))
    sandbox.store.put(1, 'categories', {
      ...template('categories', 1, at(9)),
      integrator_tags: [tag(1), tag(2)],
    })
    await sync(sandbox, warehouse, { resources: ['categories', 'integrator_tags'] })
    sandbox.store.remove(1, 'integrator_tags', 2)
    sandbox.store.put(1, 'categories', { ...template('categories', 1, at(20)), integrator_tags: [tag(1)] })
    await reconcile(sandbox, warehouse, { resources: ['categories', 'integrator_tags'] })
    expect(await liveIds(warehouse, 'integrator_tags')).toEqual([1, 3])
    await warehouse.close()
  })

  it.each([
    ['that only the comparison meets', 3500],
    ['that the walk before it meets, too', 7500],
  ])("a record that can't be stored, %s, is reported each time, once", async (_, time) => {
    const warehouse = await prepared(1000)
    sandbox.store.put(1, 'notes', { description: 'no id', updated_at: at(time), created_at: at(1) })
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)).toMatchObject({ status: 'failed', completeness: 'unproven' })
    expect(only(report)?.error).toContain('1 record could not be stored')
    expect(only(report)?.requests).toBeLessThan(25)
    await warehouse.close()
  })
})
