/**
 * `forget --tenant`: nothing of the tenant is left, everything of the others is, and it stays out, granted or not, until
 * someone lets it back in. The sentences are in test/transcripts/forget.txt.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import type { Target } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import {
  bothWarehouses,
  claimLease,
  contents,
  forgottenTenants,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'

let shops: Sandbox
beforeAll(async () => {
  shops = await createSandbox({ tenants: 2, scale: 0.02, seed: 6 })
})
afterAll(() => shops.close())

/** The table of every row with the tenant: but for the fact that it was forgotten. */
async function traces(warehouse: Warehouse, tenant = 101): Promise<string[]> {
  const found: string[] = []
  for (const { name } of warehouse.tables.filter((table) => table.name !== 'sync_forgotten'))
    for (const row of await rowsOf(warehouse, name)) if (row.tenant_id === tenant) found.push(name)
  return found
}

const ofOthers = async (warehouse: Warehouse): Promise<unknown[]> => {
  const rows = await Promise.all(warehouse.model.tables.map(({ name }) => rowsOf(warehouse, name)))
  return rows.flat().filter(({ tenant_id }) => tenant_id === 102)
}

it.each(bothWarehouses())(
  '$name: leaves no row of the tenant in any table, the rows of the others as they are, and a running sync alone',
  async (kind) => {
    const address = await kind.viewed()
    const config = configure(shops, address, [], { sync: { resources: 'all' } })
    const forget = (tenant: number) =>
      shopsync(['forget', '--tenant', String(tenant), '--yes', '--json', '--config', config])
    const stamps = { updated_at: '2026-11-20T00:00:00Z' }
    shops.store.put(101, 'payments', { id: 9_000_001, amount_cents: 12.5, ...stamps })
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    const warehouse = await reopen(address)
    const before = await traces(warehouse)
    expect(before.length).toBeGreaterThan(300)
    expect(before).toEqual(expect.arrayContaining(['sync_quarantine', 'sync_drift', 'sync_requests']))
    const others = await ofOthers(warehouse)

    const lease = await claimLease(warehouse, { runId: 'another', command: 'sync', leaseMs: 60_000 })
    expect((await forget(101)).code).toBe(4)
    await lease.release()
    expect(await traces(warehouse)).toEqual(before)

    const gone = await forget(101)
    expect(gone.code, gone.stderr).toBe(0)
    expect(gone.json<{ rows: number }>().rows).toBeGreaterThan(300)
    expect(await traces(warehouse)).toEqual([])
    expect(await ofOthers(warehouse)).toEqual(others)
    await warehouse.close()
  },
)

/** In the order in which somebody does it. */
describe.each(warehouses())('$name', (kind) => {
  let address: Address
  let warehouse: Warehouse
  let before: unknown
  const lists = ['notes', 'customers', 'categories']
  const run = (words: readonly string[], sync = {}, target: Target = shops, at = address) =>
    shopsync([...words, '--config', configure(target, at, lists, { sync })])
  const done = async (...given: Parameters<typeof run>) => {
    const ended = await run(...given)
    expect(ended.code, ended.stderr + ended.stdout).toBe(0)
    return ended
  }
  /** The tenants that a run reports on. */
  const tenantsOf = async (...given: Parameters<typeof run>): Promise<number[]> => {
    const ended = await done(...given)
    const { cursors } = ended.json<{ cursors: { tenant_id: number }[] }>()
    return [...new Set(cursors.map(({ tenant_id }) => tenant_id))].sort()
  }
  const forget = (tenant: number) => done(['forget', '--tenant', String(tenant), '--yes'])
  beforeAll(async () => {
    address = await kind.viewed()
    await done(['sync'])
    warehouse = await reopen(address)
    before = await contents(warehouse)
    return () => warehouse.close()
  })

  it.runIf(kind.name === 'sqlite')('stays out from the first erased row on, wherever that ends', async () => {
    const { db } = warehouse
    const cut = `create trigger cut before delete on customers begin select raise(abort, 'cut short'); end`
    await warehouse.write([{ ...db.deleteFrom('tenants').compile(), sql: cut, parameters: [] }])
    expect((await run(['forget', '--tenant', '101', '--yes'])).code).not.toBe(0)
    await warehouse.write([
      { ...db.deleteFrom('tenants').compile(), sql: 'drop trigger cut', parameters: [] },
    ])
    expect((await traces(warehouse)).length).toBeGreaterThan(1)
    expect(await tenantsOf(['sync', '--json'])).toEqual([102])
  })

  it('runs of every kind leave it out, and status counts it', async () => {
    await forget(101)
    for (const words of [['sync'], ['reconcile'], ['verify']])
      expect(await tenantsOf([...words, '--json']), words.join(' ')).toEqual([102])
    const plan = (await done(['plan', '--json'])).json<{ tenants: object[] }>()
    expect(plan.tenants).toMatchObject([{ tenant_id: 102 }])
    expect((await done(['status', '--json'])).json()).toMatchObject({ healthy: true, forgotten: 1 })
    expect(await traces(warehouse)).toEqual([])
  })

  it('nothing of its authorization is kept, whatever that contains', async () => {
    const when = { resource: 'authorizations' }
    shops.script([
      { when, fault: { kind: 'alter', path: 'writable', to: 'perhaps', records: 'all' } },
      { when, fault: { kind: 'fields', name: 'plan', value: 'gold', records: 'all' } },
    ])
    await run(['sync', '--full'])
    shops.script([])
    expect(await traces(warehouse)).toEqual([])
  })

  it('is left out with one warning if sync.tenants names it, and check does not request it', async () => {
    const both = { tenants: [101, 102] }
    const { stderr, stdout } = await done(['sync', '--json'], both)
    expect(stderr.match(/forgotten/g)).toHaveLength(1)
    expect(stdout).not.toContain('"tenant_id": 101')
    expect(await tenantsOf(['sync', '--json'], { tenants: [101] })).toEqual([])
    shops.resetRequests()
    expect((await done(['check'], both)).stdout).not.toContain('tenant 101')
    expect(shops.requests.filter(({ path }) => path.includes('/tenants/101/'))).toEqual([])
    expect(await traces(warehouse)).toEqual([])
  })

  it('a copy includes it', async () => {
    const copy = { url: `sqlite:${join(scratch(), 'copy.db')}`, schema: '' }
    await done(['copy', '--to', copy.url])
    expect(await tenantsOf(['sync', '--json'], {}, shops, copy)).toEqual([102])
  })

  it('comes back completely after it was let back in, while it is granted', async () => {
    await done(['forget', '--tenant', '101', '--lift'])
    expect((await run(['forget', '--tenant', '101', '--lift'])).code).toBe(2)
    await done(['sync'])
    expect(await contents(warehouse)).toEqual(before)
  })

  it('a warehouse in which everyone is forgotten lacks nobody', async () => {
    for (const tenant of [101, 102]) await forget(tenant)
    expect(await tenantsOf(['sync', '--json'])).toEqual([])
    expect((await done(['status', '--json'])).json()).toMatchObject({ healthy: true, forgotten: 2 })
  })

  it('another source knows nobody who was forgotten; the same one at a new address does', async () => {
    const moved = { ...shops, url: shops.url.replace('127.0.0.1', 'localhost') }
    await done(['adopt', '--same-data', '--yes'], {}, moved)
    expect(await forgottenTenants(warehouse)).toEqual(new Set([101, 102]))
    await done(['adopt', '--yes'], {}, { ...moved, partnerId: '44' })
    expect(await forgottenTenants(warehouse)).toEqual(new Set())
  })
})
