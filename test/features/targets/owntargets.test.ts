/** Targets of single tenants: what they change in rounds, counts, forecasts and alerts. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { FreshnessPlan, ResourceFreshnessStatus } from '../../../src/features/targets/freshnessplan.js'
import { withDelays } from '../../../src/features/targets/tables.js'
import { createSandbox, template } from '../../../src/sandbox/index.js'
import { type Ended, shopsync } from '../../support/harness/call.js'
import type { Address } from '../../support/harness/place.js'
import type { RunReport } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import { openAt, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const resources = ['notes', 'shops', 'vendors']
const sandbox = await createSandbox({ data: 'none' })
afterAll(() => sandbox.close())

/** So many minutes ago. */
const ago = (minutes: number): string =>
  new Date(Date.now() - minutes * 60_000).toISOString().replace('Z', '000Z')

describe.each(warehouses())('$name', (kind) => {
  let at: Address
  let folder = ''
  const configure = (more: Record<string, object>): void => {
    const { url: baseUrl, partnerId, secret } = sandbox
    const config = {
      api: { baseUrl, partnerId, secret },
      warehouse: at.url.startsWith('sqlite:') ? { url: at.url } : { url: at.url, schema: at.schema },
      ...{ sync: { resources }, ...more },
    }
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  }
  const run = (...words: string[]): Promise<Ended> => shopsync(words, { cwd: folder })
  async function within<T>(work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
    const warehouse = await openAt(at)
    try {
      return await work(warehouse)
    } finally {
      await warehouse.close()
    }
  }
  const polled = async (): Promise<readonly string[]> => {
    await within(({ db }) =>
      db
        .updateTable('sync_cursors')
        .set({ polled_at: ago(60) })
        .execute(),
    )
    const ended = await run('sync', '--due', '--json')
    expect(ended).toMatchObject({ code: 0 })
    const { cursors } = ended.json<RunReport>()
    return cursors.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`).toSorted()
  }

  beforeEach(async () => {
    sandbox.reset()
    for (const id of [1, 2, 3]) {
      sandbox.store.addTenant({ id })
      sandbox.store.put(id, 'notes', template('notes', 1, '2026-01-01T00:00:00Z'))
    }
    at = await kind.viewed()
    folder = scratch()
    configure({})
    expect(await run('sync')).toMatchObject({ code: 0 })
  })

  it("a tenant's own target comes before the resource's, and the one of a resource before that of all", async () => {
    // After an hour, a list is due if its target is at most four hours.
    configure({ targets: { '*': 'PT6H' } })
    expect(await polled()).toEqual([])
    const tenants = { 2: { notes: 'PT5M' }, 3: { '*': 'PT1H', shops: 'PT12H' } }
    configure({ targets: { '*': 'PT6H', tenants } })
    expect(await polled()).toEqual(['2 notes', '3 notes', '3 vendors'])
    configure({ targets: { notes: 'PT5M', '*': 'PT6H', tenants: { 1: { '*': 'PT12H' } } } })
    expect(await polled()).toEqual(['2 notes', '3 notes'])
    configure({ targets: { tenants: { 2: { notes: 'PT5M' } } } })
    expect(await polled()).toEqual(['2 notes'])
  })

  it('counts, forecasts and reports a list with a target of its own apart from the others', async () => {
    const message = join(folder, 'told.txt')
    const targets = { notes: 'PT6H', tenants: { 2: { notes: 'PT5M' } } }
    const rule = { on: ['behind_target'], command: ['sh', '-c', `cat >> ${message}`] }
    configure({ targets, alerts: { rules: [rule] } })
    for (const id of [1, 2]) sandbox.store.put(id, 'notes', template('notes', 9, ago(40)))
    await within(({ db }) =>
      db.updateTable('sync_cursors').set({ watermark: '2020-01-01T00:00:00.000000Z' }).execute(),
    )
    expect(await run('sync')).toMatchObject({ code: 0 })
    const freshness = async (...words: string[]) =>
      (await run('status', '--json', ...words)).json<{ freshness: readonly ResourceFreshnessStatus[] }>()
        .freshness
    const others = { resource: 'notes', target_seconds: 21_600, met: 1, missed: 0 }
    const own = { resource: 'notes', tenant_id: 2, target_seconds: 300, met: 0, missed: 1 }
    const polledNow = { oldest_poll_at: expect.any(String), oldest_poll_seconds: expect.any(Number) }
    expect(await freshness()).toEqual([
      { ...others, ...polledNow },
      { ...own, ...polledNow },
    ])
    expect(await freshness('--tenant', '2')).toMatchObject([own])
    expect(await freshness('--tenant', '1')).toMatchObject([others])
    const { stdout } = await run('status', '--tenant', '2')
    expect(stdout).toMatch(/^ {2}notes of tenant 2 PT5M: 0% of 1 change in time, oldest poll 20/m)
    expect(stdout).not.toContain('PT6H')
    const plan = (await run('plan', '--json')).json<{ freshness: FreshnessPlan }>().freshness
    expect(plan.resources).toMatchObject([
      { resource: 'notes', tenant_id: 2, target_seconds: 300 },
      { resource: 'notes', target_seconds: 21_600 },
    ])
    // Two lists every six hours, one every five minutes, and six every day.
    expect(plan.needed_for_all).toBe(Math.ceil(2 / 6 + 12 + 6 / 24))
    expect(existsSync(message)).toBe(false)
    const lastHour = `${ago(60).slice(0, 13)}:00:00.000000Z`
    await within(({ db }) =>
      withDelays(db).updateTable('sync_tenant_delays').set({ hour: lastHour }).execute(),
    )
    expect(await run('sync')).toMatchObject({ code: 0 })
    expect(readFileSync(message, 'utf8')).toMatch(
      /"opened".*tenant 2, notes: 1 of 1 change missed the target of PT5M/,
    )
    expect(await run('forget', '--tenant', '2', '--yes')).toMatchObject({ code: 0 })
    const left = ({ db }: Warehouse) => withDelays(db).selectFrom('sync_tenant_delays').selectAll().execute()
    expect(await within(left)).toEqual([])
    const after = await run('sync', '--due')
    expect(after).toMatchObject({ code: 0 })
    expect(after.stderr).toMatch(
      /"tenant_id":\[2\].*targets\.tenants names a tenant that is not granted, or was/,
    )
  })

  it('an unknown tenant is warned of, one that is left out is not; an empty object changes nothing', async () => {
    const hour = { notes: 'PT1H' }
    configure({ targets: { '*': 'PT6H', tenants: { 77: hour } } })
    const { code, stderr } = await run('sync', '--due')
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/"tenant_id":\[77\].*not granted/),
    })
    const checked = await run('check')
    expect(checked.stdout).toMatch(
      /^! +targets\.tenants\.77 +has no effect, because the tenant is not granted/m,
    )
    configure({
      targets: { '*': 'PT6H', tenants: { 3: hour, 2: {} } },
      sync: { resources, exceptTenants: [3] },
    })
    expect((await run('sync', '--due')).stderr).not.toContain('targets.tenants')
    expect((await run('check')).stdout).not.toContain('targets.tenants')
    configure({ targets: { tenants: { 2: {} } } })
    const none = await run('sync', '--due')
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('no targets') })
  })
})
