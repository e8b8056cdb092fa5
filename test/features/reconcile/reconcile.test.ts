/** Reconcile: deletions at the source and records missing from the warehouse are found by counting, and fixed. */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole, sized } from '../../support/harness/size.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { at, liveIds, reconcile } from '../../support/world/notes.js'
import { atMost, OneList, proven } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
/** As many as are compared by counting. */
const many = sized(1000, 3000)

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)

  it.each([
    [0, 2],
    [1, 2],
    [99, 2],
    [100, 3],
    [350, 6],
    [600, 8],
    [many, 8],
  ])('of %i records without differences costs %i requests, including the walk', async (count, requests) => {
    await list.loaded(count)
    await list.reconcile({ ...proven, requests, rows_upserted: 0, rows_deleted: 0 })
  })

  it('finds deletions and lost rows, wherever they are, also where they cancel out in the total', async () => {
    const count = sized(5000, 20_000)
    await list.loaded(count)
    list.remove(1, 1000, count - 700)
    await list.lose(count - 1200, count - 500)
    const reconciled = {
      method: 'counting',
      deleted: 3,
      stored: 2,
      source: count - 3,
      warehouse: count - 3,
    }
    await list.reconcile({ status: 'ok', rows_deleted: 3, requests: atMost(100), reconciled })
    const row = await list.row(1000)
    expect(row?._deleted_at).toBe(row?._synced_at)
    list.remove(300)
    await list.lose(count - 300)
    await list.reconcile({ reconciled: { deleted: 1, stored: 1 } })
  })

  it('--full also finds those that cancel out between any two cut points and that no register knows', async () => {
    const count = isWhole() ? 9000 : 1500
    await list.loaded(count)
    list.remove(count / 2)
    await list.lose(count / 2 + 1)
    await list.write({ live_rows: null }, undefined, 'sync_registers')
    await list.reconcile({ reconciled: { deleted: 0, stored: 0 } }, { lacks: null })
    await list.reconcile(
      { ...proven, reconciled: { method: 'listing', deleted: 1, stored: 1 } },
      { full: true },
    )
  })

  it('fixes a missed version, although no count of the total shows it', async () => {
    await list.loaded(1000)
    list.put(500, at(6000), { description: 'newer' })
    await list.write({ watermark: at(9000) }, undefined, 'sync_cursors')
    await list.reconcile({ status: 'ok', watermark: at(9000) })
    expect((await list.live()).get(500)).toBe(at(6000))
  })

  it('restores a record that came back, whether it changed or not', async () => {
    await list.loaded(1000)
    const [same, changed] = [100, 600].map((id) => sandbox.store.stored(1, 'notes', id)!)
    list.remove(100, 600)
    await list.reconcile({ rows_deleted: 2 })
    sandbox.store.put(1, 'notes', same!)
    sandbox.store.put(1, 'notes', { ...changed!, updated_at: at(100_000) })
    await list.reconcile({ status: 'ok' })
  })

  it('lists everything if more differs than counting is worth', async () => {
    await list.loaded(many)
    for (let id = 3; id <= many; id += 9) list.remove(id)
    const deleted = Math.ceil((many - 2) / 9)
    await list.reconcile({ status: 'ok', reconciled: { method: 'listing', deleted } })
  })

  it('a tie of hundreds of records is compared as one, in whatever order the source returns them', async () => {
    await list.begin(800)
    const tied = sized(400, 1000)
    for (let id = 2001; id <= 2000 + tied; id++) list.put(id, at(50_000, 5))
    await list.sync({})
    sandbox.store.shuffleTies = true
    list.remove(2100, 2200)
    await list.lose(2300, 2350, 2390)
    await list.reconcile({ status: 'ok' })
  })

  it('tags inside other records are reconciled by their own cursor', async () => {
    await list.begin(0)
    const { warehouse, clock } = list
    const options = { resources: ['categories', 'integrator_tags'], clock }
    const tag = (id: number) => template('integrator_tags', id, at(id))
    const category = (time: number, ...tags: readonly number[]): void =>
      sandbox.store.put(1, 'categories', {
        ...template('categories', 1, at(time)),
        integrator_tags: tags.map(tag),
      })
    for (const id of [1, 2, 3]) sandbox.store.put(1, 'integrator_tags', tag(id))
    category(9, 1, 2)
    await sync(sandbox, warehouse, options)
    sandbox.store.remove(1, 'integrator_tags', 2)
    category(20, 1)
    await reconcile(sandbox, warehouse, options)
    expect(await liveIds(warehouse, 'integrator_tags')).toEqual([1, 3])
  })
})
