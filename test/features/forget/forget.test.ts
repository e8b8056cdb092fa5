/** Forget: nothing of a tenant is left, and everything of the others is. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forgetTenant } from '../../../src/features/forget/work.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { depsOf, known, sync } from '../../support/harness/runs.js'
import { bothWarehouses, claimLease, open, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'

let shops: Sandbox
beforeAll(async () => {
  shops = await createSandbox({ tenants: 2, scale: 0.05, seed: 6 })
})
afterAll(() => shops.close())

async function forget(warehouse: Warehouse, tenant: number) {
  const { deps, close } = await depsOf(shops, warehouse)
  try {
    return await forgetTenant(deps, tenant)
  } finally {
    await close()
  }
}

/** Every row of every table with the tenant, and every text with one of its words. */
async function traces(warehouse: Warehouse, tenant: number): Promise<string[]> {
  const found: string[] = []
  // Only the fact that it was forgotten is kept (staysaway.test.ts).
  for (const table of warehouse.tables.filter(({ name }) => name !== 'sync_forgotten'))
    for (const row of await rowsOf(warehouse, table.name))
      if (row.tenant_id === tenant) found.push(table.name)
  return found
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('leaves no row of the tenant in any table, and the rows of the others as they are', async () => {
    const warehouse = await open(kind)
    shops.store.put(101, 'payments', {
      id: 9_000_001,
      amount_cents: 12.5,
      updated_at: '2026-11-20T00:00:00Z',
    })
    await sync(shops, warehouse, {})
    expect((await traces(warehouse, 101)).length).toBeGreaterThan(900)
    expect(await traces(warehouse, 101)).toEqual(
      expect.arrayContaining(['sync_quarantine', 'sync_drift', 'sync_requests']),
    )
    const others = await ofTenant(warehouse, 102)
    const gone = await forget(warehouse, 101)
    expect(gone.rows).toBeGreaterThan(900)
    expect(await traces(warehouse, 101)).toEqual([])
    expect(await ofTenant(warehouse, 102)).toEqual(others)
    await warehouse.close()
  })

  it("refuses a tenant that the warehouse doesn't know, and leaves a running sync alone", async () => {
    const warehouse = await open(kind)
    await sync(shops, warehouse, { resources: ['categories'] })
    await expect(forget(warehouse, 999)).rejects.toMatchObject({
      exitCode: 2,
      hint: expect.stringContaining('101, 102'),
    })
    const lease = await claimLease(warehouse, { runId: 'another', command: 'sync', leaseMs: 60_000 })
    await expect(forget(warehouse, 101)).rejects.toMatchObject({ exitCode: 4 })
    expect((await traces(warehouse, 101)).length).toBeGreaterThan(0)
    await lease.release()
    await warehouse.close()
  })

  async function ofTenant(warehouse: Warehouse, tenant: number): Promise<unknown> {
    const tables = known.tables.map(async ({ name }) =>
      (await rowsOf(warehouse, name)).filter((row) => row.tenant_id === tenant),
    )
    return Promise.all(tables)
  }
})
