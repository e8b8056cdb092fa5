/** Which lists `sync --due` may choose, on both warehouses, and what is done without targets. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { nothingHeard, totalsOf } from '../../../src/features/targets/duelists.js'
import { allLists } from '../../../src/features/targets/sql.js'
import { withDelays } from '../../../src/features/targets/tables.js'
import { createSandbox, template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import type { Address } from '../../support/harness/place.js'
import type { RunReport } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import { bothWarehouses, openAt, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const resources = ['notes', 'shops', 'vendors']
const sandbox = await createSandbox({ data: 'none' })
afterAll(() => sandbox.close())
const [first, second, third, fourth] = [1, 2, 3, 4] as const
const targets = { '*': 'PT15M' }

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  let at: Address
  let folder = ''
  const configure = (more: Record<string, object> = {}): void => {
    const { url: baseUrl, partnerId, secret } = sandbox
    const { sync, ...rest } = more
    const config = {
      api: { baseUrl, partnerId, secret },
      warehouse: at.url.startsWith('sqlite:') ? { url: at.url } : { url: at.url, schema: at.schema },
      sync: { resources, concurrency: 1, ...sync },
      ...rest,
    }
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  }
  const run = async (...words: string[]): Promise<RunReport> => {
    const { code, stderr, json } = await shopsync([...words, '--json'], { cwd: folder })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    return json<RunReport>()
  }
  async function within<T>(work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
    const warehouse = await openAt(at)
    try {
      return await work(warehouse)
    } finally {
      await warehouse.close()
    }
  }
  /** Every poll was a day ago. */
  const age = (): Promise<unknown> =>
    within((warehouse) =>
      warehouse.db.updateTable('sync_cursors').set({ polled_at: '2026-01-01T00:00:00.000000Z' }).execute(),
    )
  const set = (columns: object, tenantId: number, resource: string): Promise<unknown> =>
    within((warehouse) =>
      warehouse.db
        .updateTable('sync_cursors')
        .set(columns)
        .where('tenant_id', '=', tenantId)
        .where('resource', '=', resource)
        .execute(),
    )
  const polled = ({ cursors }: RunReport): string[] =>
    cursors.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`).toSorted()
  const lists = (tenants: readonly number[]): string[] =>
    tenants.flatMap((id) => resources.map((name) => `${id} ${name}`)).toSorted()

  beforeEach(async () => {
    sandbox.reset()
    for (const id of [first, second, third, fourth]) {
      sandbox.store.addTenant({ id })
      sandbox.store.put(id, 'notes', template('notes', 1, '2026-01-01T00:00:00Z'))
    }
    at = await kind.viewed()
    folder = scratch()
    configure({ targets })
    await run('sync')
    await age()
  })

  it('a round takes every list of every tenant that is granted, one with a hole like the others', async () => {
    await set({ status: 'ok', completeness: 'unproven', reason: 'hole' }, second, 'notes')
    expect(polled(await run('sync', '--due'))).toEqual(lists([first, second, third, fourth]))
  })

  it('none of a tenant that is revoked', async () => {
    sandbox.store.revoke(second)
    expect(polled(await run('sync', '--due'))).toEqual(lists([first, third, fourth]))
  })

  it('none of a tenant in sync.exceptTenants, of one that was forgotten, and none that is not offered', async () => {
    await set({ status: 'unavailable' }, first, 'vendors')
    await shopsync(['forget', '--tenant', String(fourth), '--yes'], { cwd: folder })
    configure({ targets, sync: { exceptTenants: [second] } })
    expect(polled(await run('sync', '--due'))).toEqual(
      lists([first, third]).filter((name) => name !== `${first} vendors`),
    )
  })

  test('while a listener runs, only unannounced news counts for resources that have events', async () => {
    await set({ news: 9, news_unannounced: 2, news_hours: 5 }, first, 'notes')
    await set({ news: 7, news_unannounced: 3, news_hours: 5 }, first, 'shops')
    await set({ polled_at: '2026-01-03T00:00:00.000000Z', news: 4, news_unannounced: 1 }, second, 'notes')
    await set({ status: 'unavailable' }, third, 'notes')
    const listening = { since: '2026-01-02T00:00:00.000000Z', names: ['notes'] }
    const newsWith = (heard: Parameters<typeof totalsOf>[1]) =>
      within(async (warehouse) => {
        const rows = []
        for await (const some of allLists(warehouse, heard.listening)) rows.push(...some)
        const totals = await totalsOf(warehouse, heard)
        return {
          lists: rows.map(({ news }) => Number(news ?? 0)).filter((news) => news > 0),
          notes: totals.find(({ resource }) => resource === 'notes'),
        }
      })
    const notes = { resource: 'notes', unavailable: 1 }
    expect(await newsWith(nothingHeard)).toMatchObject({ lists: [9, 7, 4], notes: { ...notes, news: 13 } })
    expect(await newsWith({ ...nothingHeard, listening })).toMatchObject({
      ...{ lists: [9, 7, 1], notes: { ...notes, news: 10 } },
    })
  })

  test('without targets the same requests are sent, and no change is counted by its delay', async () => {
    const delays = (): Promise<unknown[]> =>
      within((warehouse) => withDelays(warehouse.db).selectFrom('sync_delays').selectAll().execute())
    const requests = async (how: Record<string, object>): Promise<string[]> => {
      configure(how)
      sandbox.resetRequests()
      await run('sync')
      return sandbox.requests.map(({ tenant, resource }) => `${tenant} ${resource}`)
    }
    const change = (id: number): void =>
      sandbox.store.put(first, 'notes', template('notes', id, new Date().toISOString()))
    await requests({})
    change(901)
    const changed = await requests({})
    expect(changed).toHaveLength(1 + resources.length * 4)
    expect(await delays()).toEqual([])
    const idle = await requests({})
    expect(idle).toEqual(changed)
    change(902)
    expect(await requests({ targets })).toEqual(changed)
    expect(await delays()).toHaveLength(1)
  })
})
