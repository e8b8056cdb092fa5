/** One environment: whatever receives a source's events writes into that source's warehouse, and no other. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Inbox } from '../../../src/features/events/inbox.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import { reopen } from '../../support/harness/warehouse.js'

let here: Place
let other: Sandbox

beforeAll(async () => {
  here = await viewedPlace({ repairOrders: 2, tenants: 1 })
  here.configure({ sync: { resources: ['repair_orders'] }, events: { port: 0 } })
  expect((await here.run('sync')).code).toBe(0)
  other = await createSandbox({ tenants: 1, repairOrders: 2 })
})
afterAll(async () => {
  await other.close()
  await here.remove()
})

test("listen refuses another source's warehouse before it listens", async () => {
  here.configure({ api: { baseUrl: other.url }, sync: { resources: ['repair_orders'] }, events: { port: 0 } })
  const ended = await here.run('listen')
  expect([ended.code, ended.stdout]).toEqual([2, ''])
  expect(ended.stderr).toContain(`belongs to the source ${here.sandbox.url}`)
  expect(ended.stderr).toContain('shopsync adopt')
  // Nothing was made for the other source's events.
  expect((await here.run('events', 'list')).stdout).toContain('Nobody has received events')
})

test('so does a command that rings', async () => {
  const warehouse = await reopen({ url: `sqlite:${join(here.folder, 'data/warehouse.db')}`, schema: '' })
  await (await Inbox.open(warehouse)).close()
  await warehouse.close()
  here.configure({ api: { baseUrl: other.url }, sync: { resources: ['repair_orders'] }, events: { port: 0 } })
  const ended = await here.run('events', 'ring')
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain('belongs to the source')
})

test("a sync continues if the inbox can't be opened", async () => {
  here.configure({ sync: { resources: ['repair_orders'] }, events: { port: 0 } })
  const file = join(here.folder, 'data/warehouse.db.events')
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  writeFileSync(file, 'not a database, and long enough to be read as one'.repeat(100))
  const ended = await here.run('sync')
  expect([ended.code, ended.stdout + ended.stderr]).toEqual([0, expect.stringContaining('they wait')])
  expect((await here.run('events', 'list')).code).toBe(3)
})
