/** Why: which request wrote a row, and what the source has now; and how little is stored for that. */
import { describe, expect, it } from 'vitest'
import { whyText } from '../../../src/features/why/words.js'
import { tellWhy, type Why } from '../../../src/features/why/work.js'
import { createSandbox, serviceTemplate, template } from '../../../src/sandbox/index.js'
import { depsOf, known, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole } from '../../support/harness/size.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { at, fill, lose, reconcile, timeOf } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()

async function ask(
  warehouse: Warehouse,
  table: string,
  id: string,
  tenants: number[] | null = null,
): Promise<Why> {
  const { deps, close } = await depsOf(sandbox, warehouse)
  try {
    return await tellWhy(deps, { table, id, tenants })
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
    await sync(sandbox, warehouse, { resources: [resource], readAhead: 1 })
    return warehouse
  }
  const first = async (warehouse: Warehouse, table: string, id: string) =>
    (await ask(warehouse, table, id)).rows[0]

  it('names the sync, the page and the request, and finds that the source agrees', async () => {
    const warehouse = await prepared(450)
    const [runRow] = await rowsOf(warehouse, 'sync_runs')
    const told = await first(warehouse, 'notes', '130')
    expect(told).toMatchObject({
      state: 'live',
      brought: { certainty: 'exact', run_id: runRow?.run_id, mode: 'sync', way: 'walk', page: 4 },
      source: { answer: 'exists', updated_at: timeOf(130), differences: [] },
    })
    expect(told?.brought.request_id).toMatch(/\w{8}/)
    await warehouse.close()
  })

  it('still names it when later requests have shown the row again, unchanged', async () => {
    const warehouse = await prepared(450)
    const before = await first(warehouse, 'notes', '449')
    for (let n = 0; n < 3; n++) await sync(sandbox, warehouse, { resources: ['notes'] })
    const told = await first(warehouse, 'notes', '449')
    expect(told?.brought).toMatchObject({
      certainty: 'likely',
      at: before?.brought.at,
      page: 1,
      run_id: before?.brought.run_id,
    })
    expect(told!.brought.confirmed_at > before!.brought.confirmed_at).toBe(true)
    await warehouse.close()
  })

  it('distinguishes reconcile and backfill from walks, and a tombstone from a live row', async () => {
    const warehouse = await prepared(9000)
    await lose(warehouse, [2000, 7000])
    sandbox.store.remove(1, 'notes', 5000)
    await sync(sandbox, warehouse, {
      resources: ['notes'],
      mode: 'backfill',
      ranges: [{ from: at(13_000), to: at(15_000) }],
    })
    const report = await reconcile(sandbox, warehouse)
    expect((await first(warehouse, 'notes', '2000'))?.brought).toMatchObject({
      certainty: 'exact',
      way: 'backfill',
    })
    expect((await first(warehouse, 'notes', '7000'))?.brought).toMatchObject({
      way: 'reconcile',
      mode: 'reconcile',
    })
    const gone = await first(warehouse, 'notes', '5000')
    expect(gone).toMatchObject({
      state: 'deleted',
      source: { answer: 'gone' },
      brought: { confirmed_by: report.run_id },
    })
    expect(whyText(await ask(warehouse, 'notes', '5000'))).toContain('deleted; found gone at')
    await warehouse.close()
  })

  it('shows what differs, field by field, also for the owner of a nested row, and what is in quarantine', async () => {
    const warehouse = await prepared(3, 'repair_orders')
    const record = { ...template('repair_orders', 2, timeOf(2)), odometer: 12.5 }
    sandbox.store.put(1, 'repair_orders', { ...record, updated_at: at(90) })
    await sync(sandbox, warehouse, { resources: ['repair_orders'] })
    const services = [{ ...serviceTemplate(20, timeOf(2)), title: 'Changed since' }]
    sandbox.store.put(1, 'repair_orders', { ...record, odometer: 7, updated_at: at(95), services })
    const told = await first(warehouse, 'repair_order_services', '20')
    expect(told?.quarantine).toMatchObject([{ path: 'odometer', value: '12.5' }])
    expect(told?.source).toMatchObject({ answer: 'exists', updated_at: at(95) })
    const text = whyText(await ask(warehouse, 'repair_order_services', '20'))
    expect(text).toContain('repair_order_services 2/20, title: "title 20" here, "Changed since" there')
    expect(text).toContain('in quarantine: odometer')
    // A part has no deletion mark of its own: it is as live as its record.
    expect(told).toMatchObject({ owner: { table: 'repair_orders', id: 2 }, state: 'live' })
    sandbox.store.remove(1, 'repair_orders', 2)
    await reconcile(sandbox, warehouse, { resources: ['repair_orders'] })
    const gone = await first(warehouse, 'repair_order_services', '20')
    expect(gone).toMatchObject({ state: 'deleted', source: { answer: 'gone' } })
    await warehouse.close()
  })

  it('shows every order that has a service, or only one if both ids are given', async () => {
    const warehouse = await prepared(1, 'repair_orders')
    for (const id of [8, 9]) {
      const record = template('repair_orders', id, timeOf(id))
      const services = [{ ...serviceTemplate(700, timeOf(id)), title: `of ${id}` }]
      const payments = [1, 2].map((n) => ({ amount_cents: id * n }))
      sandbox.store.put(1, 'repair_orders', { ...record, updated_at: at(100 + id), services, payments })
    }
    await sync(sandbox, warehouse, { resources: ['repair_orders'] })
    const table = 'repair_order_services'
    const both = await ask(warehouse, table, '700')
    expect(both.rows.map(({ owner, row }) => [owner?.id, row.title])).toEqual([
      [8, 'of 8'],
      [9, 'of 9'],
    ])
    expect(both.rows.map(({ source }) => source)).toMatchObject([{ differences: [] }, { differences: [] }])
    expect(whyText(both)).toContain(
      'for one, type for example shopsync why repair_order_services 8/700 --tenant 1',
    )
    const one = await ask(warehouse, table, '9/700')
    expect(one.rows).toMatchObject([{ owner: { table: 'repair_orders', id: 9 }, row: { title: 'of 9' } }])
    expect(whyText(one)).toMatch(/^repair_order_services 700 of repair_orders 9, tenant 1, position 0: live/)
    expect(await ask(warehouse, table, '7/700')).toMatchObject({ rows: [] })
    // Payments have no ids: theirs is the order's.
    const paid = async (id: string) =>
      (await ask(warehouse, 'repair_order_payments', id)).rows.map(({ row }) => row.amount_cents)
    expect(await paid('9')).toEqual([9, 18])
    expect(await paid('9/1')).toEqual([18])
    for (const id of ['9/', '/700', '9/seven'])
      await expect(ask(warehouse, table, id)).rejects.toThrow('expected a whole number')
    await warehouse.close()
  })

  it('keeps no more than 16 bytes per row, and nothing of a sync that fetches nothing', async () => {
    const shops = await createSandbox({ tenants: 1, scale: isWhole() ? 0.3 : 0.1, seed: 2 })
    const warehouse = await open(kind)
    await sync(shops, warehouse, {})
    const kept = await rowsOf(warehouse, 'sync_requests')
    await sync(shops, warehouse, {})
    expect(await rowsOf(warehouse, 'sync_requests')).toEqual(kept)
    for (let n = 0; n < (isWhole() ? 30 : 10); n++) {
      shops.work(2)
      await sync(shops, warehouse, {})
    }
    const bytes = JSON.stringify(
      (await rowsOf(warehouse, 'sync_requests')).map((row) => Object.values(row)),
    ).length
    let rows = 0
    for (const table of known.tables) rows += await warehouse.countRows(table)
    console.log(`${kind.name}: ${(bytes / rows).toFixed(1)} bytes a row for why, of ${rows} rows`)
    expect(bytes / rows).toBeLessThan(16)
    await warehouse.close()
    await shops.close()
  })
})
