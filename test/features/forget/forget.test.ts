/** Forget: nothing of a tenant is left, and everything of the others is. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { known } from '../../support/harness/runs.js'
import {
  bothWarehouses,
  claimLease,
  reopen,
  rowsOf,
  type Warehouse,
} from '../../support/harness/warehouse.js'

let shops: Sandbox
beforeAll(async () => {
  shops = await createSandbox({ tenants: 2, scale: 0.05, seed: 6 })
})
afterAll(() => shops.close())

/** The table of every row with the tenant. */
async function traces(warehouse: Warehouse, tenant: number): Promise<string[]> {
  const found: string[] = []
  // Only the fact that it was forgotten is kept (staysaway.test.ts).
  for (const table of warehouse.tables.filter(({ name }) => name !== 'sync_forgotten'))
    for (const row of await rowsOf(warehouse, table.name))
      if (row.tenant_id === tenant) found.push(table.name)
  return found
}

const ofTenant = (warehouse: Warehouse, tenant: number): Promise<unknown> =>
  Promise.all(
    known.tables.map(async ({ name }) =>
      (await rowsOf(warehouse, name)).filter((row) => row.tenant_id === tenant),
    ),
  )

it.each(bothWarehouses())(
  '$name: leaves no row of the tenant in any table, the rows of the others as they are, and a running sync alone',
  async (kind) => {
    const address = await kind.viewed()
    const config = configure(shops, address, [], { sync: { resources: 'all' } })
    const run = (...words: string[]) => shopsync([...words, '--config', config])
    const forget = (tenant: number) => run('forget', '--tenant', String(tenant), '--yes', '--json')
    const stamps = { updated_at: '2026-11-20T00:00:00Z' }
    shops.store.put(101, 'payments', { id: 9_000_001, amount_cents: 12.5, ...stamps })
    expect((await run('sync')).code).toBe(0)
    const warehouse = await reopen(address)
    expect((await traces(warehouse, 101)).length).toBeGreaterThan(900)
    const state = ['sync_quarantine', 'sync_drift', 'sync_requests']
    expect(await traces(warehouse, 101)).toEqual(expect.arrayContaining(state))
    const others = await ofTenant(warehouse, 102)

    expect(await forget(999)).toMatchObject({ code: 2, stderr: expect.stringContaining('101, 102') })
    const lease = await claimLease(warehouse, { runId: 'another', command: 'sync', leaseMs: 60_000 })
    expect((await forget(101)).code).toBe(4)
    await lease.release()
    expect((await traces(warehouse, 101)).length).toBeGreaterThan(900)

    const gone = await forget(101)
    expect(gone.code, gone.stderr).toBe(0)
    expect(gone.json<{ rows: number }>().rows).toBeGreaterThan(900)
    expect(await traces(warehouse, 101)).toEqual([])
    expect(await ofTenant(warehouse, 102)).toEqual(others)
    await warehouse.close()
  },
)
