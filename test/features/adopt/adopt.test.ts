import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StatusReport } from '../../../src/features/health/statusdocument.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'

/** The end of the generated data: both sandboxes have the same records. */
const until = '2026-01-01T00:00:00Z'
const sync = { resources: ['customers', 'inventories', 'notes', 'repair_orders', 'shops', 'vehicles'] }
let here: Place
let other: Sandbox

beforeAll(async () => {
  here = await viewedPlace({ until })
  here.configure({ sync })
  other = await createSandbox({ tenants: 2, repairOrders: 12, seed: 3, until })
  await here.run('sync', '--quiet')
})
afterAll(async () => {
  await other.close()
  await here.remove()
})

const move = (): void => here.configure({ api: { baseUrl: other.url }, sync })

test('another source: every command that queries it exits with 2, and prints what to type', async () => {
  move()
  other.resetRequests()
  for (const command of ['sync', 'verify', 'run nightly', 'quarantine replay']) {
    const { code, stderr } = await here.run(...command.split(' '))
    expect([command, code]).toEqual([command, 2])
    expect(stderr).toContain(`belongs to the source ${here.sandbox.url} (partner 42)`)
    expect(stderr).toContain('shopsync adopt --same-data')
  }
  expect(other.requests).toHaveLength(0)
  const status = await here.run('status')
  expect(status.code).toBe(1)
  expect(status.stdout).toContain(`✗ Source: ${here.sandbox.url} (partner 42)`)
  expect((await here.run('status', '--json')).json<StatusReport>()).toMatchObject({
    healthy: false,
    belongs_to: { base_url: here.sandbox.url, configured: false },
  })
})

test('adopt asks first: without anyone at the terminal it does nothing and exits with 2', async () => {
  move()
  const { code, stderr } = await here.run('adopt')
  expect(code).toBe(2)
  expect(stderr).toContain('add --yes')
  expect(await here.run('sync')).toMatchObject({ code: 2 })
})

test('adopt --same-data --yes: everything is kept, and the next sync is idle', async () => {
  move()
  const adopted = await here.run('adopt', '--same-data', '--yes', '--json')
  expect(adopted.code).toBe(0)
  expect(adopted.json()).toMatchObject({ changed: true, same_data: true, to: { base_url: other.url } })
  expect((await here.run('sync', '--json')).json()).toMatchObject({
    status: 'ok',
    requests: 1 + 2 * sync.resources.length,
  })
  expect((await here.run('adopt')).stdout).toContain('already; nothing was changed')
})

test('adopt --yes: the next sync reads every list again', async () => {
  here.configure({ sync })
  expect((await here.run('adopt', '--yes')).stdout).toContain('shopsync reconcile --full')
  expect((await here.run('status', '--json')).json<StatusReport>().cursors[0]).toMatchObject({
    state: 'never',
  })
  expect((await here.run('plan', '--json')).json<{ records: number }>().records).toBeGreaterThan(100)
  expect(await here.run('sync')).toMatchObject({ code: 0 })
  expect(await here.run('verify')).toMatchObject({ code: 0 })
})

test("another source's warehouse that lacks tables stays as it is, whatever would write to it", async () => {
  const own = await viewedPlace({ until })
  own.configure({ sync })
  expect(await own.run('sync', '--quiet')).toMatchObject({ code: 0 })
  own.configure({ api: { baseUrl: other.url }, sync })
  const file = new Database(join(own.folder, 'data/warehouse.db'))
  const outline = (): unknown => file.prepare('select name, sql from sqlite_schema order by name').all()
  file.exec('drop view shop_days; drop table customer_phones')
  const before = outline()
  for (const command of ['sync', 'snapshot', 'forget --tenant 101 --yes', 'quarantine replay']) {
    const { code, stderr } = await own.run(...command.split(' '))
    expect([command, code]).toEqual([command, 2])
    expect(stderr).toContain('shopsync adopt --same-data')
    expect(outline()).toEqual(before)
  }
  expect(await own.run('adopt', '--same-data', '--yes')).toMatchObject({ code: 0 })
  expect(outline()).toContainEqual(expect.objectContaining({ name: 'customer_phones' }))
  file.close()
  await own.remove()
})
