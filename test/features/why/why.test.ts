/**
 * Why: which request wrote a row, and what the source has now; and how little is stored for that.
 * test/transcripts/why.txt shows what it says.
 */
import { describe, expect, it } from 'vitest'
import { why } from '../../support/harness/commands.js'
import { known, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole } from '../../support/harness/size.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { at, fill, lose, reconcile, timeOf } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

  async function prepared(count: number): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    const warehouse = await stock.open()
    await sync(sandbox, warehouse, { resources: ['notes'], readAhead: 1 })
    return warehouse
  }
  const first = async (warehouse: Warehouse, id: number) =>
    (await why(sandbox, warehouse, { table: 'notes', id })).rows[0]

  it('names the sync, the page and the request', async () => {
    const warehouse = await prepared(450)
    const [runRow] = await rowsOf(warehouse, 'sync_runs')
    const told = await first(warehouse, 130)
    expect(told).toMatchObject({
      state: 'live',
      brought: { certainty: 'exact', run_id: runRow?.run_id, mode: 'sync', way: 'walk', page: 4 },
      source: { answer: 'exists', updated_at: timeOf(130), differences: [] },
    })
    expect(told?.brought.request_id).toMatch(/\w{8}/)
  })

  it('distinguishes reconcile and backfill from walks, and a tombstone from a live row', async () => {
    const warehouse = await prepared(3000)
    await lose(warehouse, [500, 2500])
    sandbox.store.remove(1, 'notes', 1700)
    const ranges = [{ from: at(3000), to: at(4500) }]
    await sync(sandbox, warehouse, { resources: ['notes'], mode: 'backfill', ranges })
    const report = await reconcile(sandbox, warehouse)
    expect((await first(warehouse, 500))?.brought).toMatchObject({ certainty: 'exact', way: 'backfill' })
    expect((await first(warehouse, 2500))?.brought).toMatchObject({ way: 'reconcile', mode: 'reconcile' })
    expect(await first(warehouse, 1700)).toMatchObject({
      state: 'deleted',
      source: { answer: 'gone' },
      brought: { confirmed_by: report.run_id },
    })
  })

  it('keeps no more than 16 bytes per row, and nothing of a sync that fetches nothing', async () => {
    const shops = await sandboxOfFile({ tenants: 1, scale: isWhole() ? 0.3 : 0.1, seed: 2 })
    const warehouse = await stock.open()
    await sync(shops, warehouse, {})
    const stored = await rowsOf(warehouse, 'sync_requests')
    await sync(shops, warehouse, {})
    expect(await rowsOf(warehouse, 'sync_requests')).toEqual(stored)
    for (let n = 0; n < (isWhole() ? 30 : 2); n++) {
      shops.work(2)
      await sync(shops, warehouse, {})
    }
    const values = (await rowsOf(warehouse, 'sync_requests')).map((row) => Object.values(row))
    let rows = 0
    for (const table of known.tables) rows += await warehouse.countRows(table)
    expect(JSON.stringify(values).length / rows).toBeLessThan(16)
  })
})
