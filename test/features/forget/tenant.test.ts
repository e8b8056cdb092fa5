/**
 * `forget --tenant`: nothing of the tenant is left, everything of the others is, and it stays out, granted or not, until
 * someone lets it back in. The sentences are in test/transcripts/forget.txt.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Ended } from '../../support/harness/call.js'
import { Desk } from '../../support/harness/desk.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import {
  bothWarehouses,
  claimLease,
  contents,
  forgottenTenants,
  rowsOf,
  typed,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'

const shops = await sandboxOfFile({ tenants: 2, scale: 0.02, seed: 6 })

/** The table of every row with the tenant: but for the fact that it was forgotten. */
async function traces(warehouse: Warehouse): Promise<string[]> {
  const found: string[] = []
  for (const { name } of warehouse.tables.filter((table) => table.name !== 'sync_forgotten'))
    for (const row of await rowsOf(warehouse, name)) if (row.tenant_id === 101) found.push(name)
  return found
}

const ofOthers = async (warehouse: Warehouse): Promise<unknown[]> => {
  const rows = await Promise.all(warehouse.model.tables.map(({ name }) => rowsOf(warehouse, name)))
  return rows.flat().filter(({ tenant_id }) => tenant_id === 102)
}

it.each(bothWarehouses())(
  '$name: leaves no row of the tenant in any table, the rows of the others as they are, and a running sync alone',
  async (kind) => {
    const desk = new Desk(shops, await kind.viewed(), 'all')
    const odd = { id: 9_000_001, amount_cents: 12.5, updated_at: '2026-11-20T00:00:00Z' }
    shops.store.put(101, 'payments', odd)
    await desk.done('sync')
    await desk.look(async (warehouse) => {
      const before = await traces(warehouse)
      expect(before.length).toBeGreaterThan(300)
      expect(before).toEqual(expect.arrayContaining(['sync_quarantine', 'sync_drift', 'sync_requests']))
      const others = await ofOthers(warehouse)

      const lease = await claimLease(warehouse, { runId: 'another', command: 'sync', leaseMs: 60_000 })
      expect((await desk.run('forget --tenant 101 --yes')).code).toBe(4)
      await lease.release()
      expect(await traces(warehouse)).toEqual(before)

      const gone = await desk.done('forget --tenant 101 --yes --json')
      expect(gone.json<{ rows: number }>().rows).toBeGreaterThan(300)
      expect(await traces(warehouse)).toEqual([])
      expect(await ofOthers(warehouse)).toEqual(others)
    })
  },
)

/** The tenants that a run reports on. */
const tenantsOf = (ended: Ended): number[] => {
  const { cursors } = ended.json<{ cursors: { tenant_id: number }[] }>()
  return [...new Set(cursors.map(({ tenant_id }) => tenant_id))].sort()
}

/** In the order in which somebody does it. */
describe.each(warehouses())('$name', (kind) => {
  let desk: Desk
  let before: unknown
  const lists = ['notes', 'customers', 'categories']
  beforeAll(async () => {
    desk = new Desk(shops, await kind.viewed(), lists)
    await desk.done('sync')
    before = await desk.look(contents)
  })

  it.runIf(kind.name === 'sqlite')('stays out from the first erased row on, wherever that ends', async () => {
    const cut = `create trigger cut before delete on customers begin select raise(abort, 'cut short'); end`
    await desk.look((warehouse) => typed(warehouse, cut))
    expect((await desk.run('forget --tenant 101 --yes')).code).not.toBe(0)
    await desk.look((warehouse) => typed(warehouse, 'drop trigger cut'))
    expect((await desk.look(traces)).length).toBeGreaterThan(1)
    expect(tenantsOf(await desk.done('sync --json'))).toEqual([102])
  })

  it('runs of every kind leave it out, and status counts it', async () => {
    await desk.done('forget --tenant 101 --yes')
    for (const words of ['sync', 'reconcile', 'verify'])
      expect(tenantsOf(await desk.done(`${words} --json`)), words).toEqual([102])
    expect((await desk.done('plan --json')).json()).toMatchObject({ tenants: [{ tenant_id: 102 }] })
    expect((await desk.done('status --json')).json()).toMatchObject({ healthy: true, forgotten: 1 })
    expect(await desk.look(traces)).toEqual([])
  })

  it('nothing of its authorization is kept, whatever that contains', async () => {
    const when = { resource: 'authorizations' }
    shops.script([
      { when, fault: { kind: 'alter', path: 'writable', to: 'perhaps', records: 'all' } },
      { when, fault: { kind: 'fields', name: 'plan', value: 'gold', records: 'all' } },
    ])
    await desk.run('sync --full')
    shops.script([])
    expect(await desk.look(traces)).toEqual([])
  })

  it('is left out with one warning if sync.tenants names it, and check does not request it', async () => {
    desk.set({ sync: { resources: lists, tenants: [101] } })
    expect(tenantsOf(await desk.done('sync --json'))).toEqual([])
    desk.set({ sync: { resources: lists, tenants: [101, 102] } })
    const synced = await desk.done('sync --json')
    expect([synced.stderr.match(/forgotten/g)?.length, tenantsOf(synced)]).toEqual([1, [102]])
    shops.resetRequests()
    expect((await desk.done('check')).stdout).not.toContain('tenant 101')
    expect(shops.requests.filter(({ path }) => path.includes('/tenants/101/'))).toEqual([])
    expect(await desk.look(traces)).toEqual([])
    desk.set()
  })

  it('comes back completely after it was let back in, while it is granted', async () => {
    await desk.done('forget --tenant 101 --lift')
    await desk.done('sync')
    expect(await desk.look(contents)).toEqual(before)
  })

  it('a warehouse in which everyone is forgotten lacks nobody', async () => {
    for (const tenant of [101, 102]) await desk.done(`forget --tenant ${tenant} --yes`)
    expect(tenantsOf(await desk.done('sync --json'))).toEqual([])
    expect((await desk.done('status --json')).json()).toMatchObject({ healthy: true, forgotten: 2 })
  })

  it('another source knows nobody who was forgotten; the same one at a new address does', async () => {
    const api = { baseUrl: shops.url.replace('127.0.0.1', 'localhost'), secret: shops.secret }
    desk.set({ api: { ...api, partnerId: shops.partnerId } })
    await desk.done('adopt --same-data --yes')
    expect(await desk.look(forgottenTenants)).toEqual(new Set([101, 102]))
    desk.set({ api: { ...api, partnerId: '44' } })
    await desk.done('adopt --yes')
    expect(await desk.look(forgottenTenants)).toEqual(new Set())
  })
})
