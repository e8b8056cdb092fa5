/**
 * `forget --tenant`: nothing of the tenant is left, everything of the others is, and it stays out, granted or not, until
 * someone lets it back in. The sentences are in test/transcripts/forget.txt.
 */
import { beforeAll, expect, it } from 'vitest'
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
} from '../../support/harness/warehouse.js'
import {
  type AtDesk,
  deskWords,
  idsOf,
  Steps,
  storyTests,
  type WordsOf,
} from '../../support/world/stories.js'

const shops = await sandboxOfFile({ tenants: 2, scale: 0.02, seed: 6 })

const lists = ['notes', 'customers', 'categories']

/** The tenants that a run reports on. */
const tenantsOf = (ended: Ended): string => {
  const { cursors } = ended.json<{ cursors: { tenant_id: number }[] }>()
  return [...new Set(cursors.map(({ tenant_id }) => tenant_id))].sort().join(' ') || 'nobody'
}

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

it('sqlite: stays out from the first erased row on, wherever that ends', async () => {
  const [sqlite] = bothWarehouses()
  const desk = new Desk(shops, await sqlite!.viewed(), lists)
  await desk.done('sync')
  const cut = `create trigger cut before delete on customers begin select raise(abort, 'cut short'); end`
  await desk.look((warehouse) => typed(warehouse, cut))
  expect((await desk.run('forget --tenant 101 --yes')).code).not.toBe(0)
  await desk.look((warehouse) => typed(warehouse, 'drop trigger cut'))
  expect((await desk.look(traces)).length).toBeGreaterThan(1)
  expect(tenantsOf(await desk.done('sync --json'))).toBe('102')
})

const api = { baseUrl: shops.url, secret: shops.secret, partnerId: shops.partnerId }

const words: WordsOf<AtDesk & { readonly before: unknown }> = {
  ...deskWords,
  'tenants of REST': async ({ desk }, command) => tenantsOf(await desk.run(`${command} --json`)),
  'status counts': async ({ desk }) => {
    const { healthy, forgotten } = (await desk.run('status --json')).json<Record<string, unknown>>()
    return `${healthy ? '' : 'not '}healthy, ${forgotten} forgotten`
  },
  traces: async ({ desk }) => (await desk.look(traces)).join(' ') || 'no trace',
  // Whatever its authorization contains.
  'authorizations are odd': () => {
    const when = { resource: 'authorizations' }
    shops.script([
      { when, fault: { kind: 'alter', path: 'writable', to: 'perhaps', records: 'all' } },
      { when, fault: { kind: 'fields', name: 'plan', value: 'gold', records: 'all' } },
    ])
  },
  'no rules': () => shops.script([]),
  'sync.tenants IDS': ({ desk }, ids) => desk.set({ sync: { resources: lists, tenants: idsOf(ids!) } }),
  'the usual config': ({ desk }) => desk.set(),
  'requests of N by REST': async ({ desk }, tenant, command) => {
    shops.resetRequests()
    await desk.done(command!)
    return `${shops.requests.filter(({ path }) => path.includes(`/tenants/${tenant}/`)).length} requests`
  },
  'as before': async ({ desk, before }) => expect(await desk.look(contents)).toEqual(before),
  'another address of the source': ({ desk }) =>
    desk.set({ api: { ...api, baseUrl: api.baseUrl.replace('127.0.0.1', 'localhost') } }),
  'another partner': ({ desk }) => desk.set({ api: { ...api, partnerId: '44' } }),
  forgotten: async ({ desk }) =>
    `forgotten: ${[...(await desk.look(forgottenTenants))].join(' ') || 'nobody'}`,
}

/** In the order in which somebody does it. */
storyTests('test/features/forget/tenant.txt', new Steps(words), (kind) => {
  let story: AtDesk & { readonly before: unknown }
  beforeAll(async () => {
    const desk = new Desk(shops, await kind.viewed(), lists)
    await desk.done('sync')
    story = { desk, said: '', before: await desk.look(contents) }
  })
  return () => story
})
