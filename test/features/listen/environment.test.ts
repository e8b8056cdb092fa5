/**
 * One environment: whatever receives a source's events writes into that source's warehouse, and no other. What its inbox
 * lacks keeps nothing else from working.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { listenHere } from '../../support/harness/listenhere.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'

const own = { sync: { resources: ['repair_orders'] }, events: { port: 0 } }
let here: Place
let other: Sandbox

beforeAll(async () => {
  here = await viewedPlace({ repairOrders: 2, tenants: 1 })
  here.configure(own)
  expect((await here.run('sync')).code).toBe(0)
  other = await createSandbox({ tenants: 1, repairOrders: 2 })
})
afterAll(async () => {
  await other.close()
  await here.remove()
})

const inbox = (): string => join(here.folder, 'data/warehouse.db.events')
const list = () => here.run('events', 'list')

/** A listener has made the inbox. */
async function listened(): Promise<void> {
  here.configure(own)
  const { end } = await listenHere(here.folder, here.sandbox.secret)
  expect((await end()).code).toBe(0)
}

test("listen refuses another source's warehouse before it listens", async () => {
  here.configure({ api: { baseUrl: other.url }, ...own })
  const ended = await here.run('listen')
  expect([ended.code, ended.stdout]).toEqual([2, ''])
  expect(ended.stderr).toContain(`belongs to the source ${here.sandbox.url}`)
  expect(ended.stderr).toContain('shopsync adopt')
  // Nothing was made for the other source's events.
  expect((await list()).stdout).toContain('Nobody has received events')
})

test('an inbox that was interrupted while a listener made it reads as missing, and is made by the next one', async () => {
  here.configure(own)
  writeFileSync(inbox(), '')
  expect((await list()).stdout).toContain('Nobody has received events')
  expect((await here.run('sync')).code).toBe(0)
  await listened()
  expect((await list()).stdout).not.toContain('Nobody has received events')
})

test('so does a command that rings', async () => {
  await listened()
  here.configure({ api: { baseUrl: other.url }, ...own })
  const ended = await here.run('events', 'ring')
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain('belongs to the source')
})

test("listen refuses another source's events, too", async () => {
  await listened()
  const events = new Database(inbox())
  events.exec("update sync_listeners set source = 'https://other.example 7'")
  const ended = await here.run('listen')
  expect([ended.code, ended.stderr]).toEqual([
    2,
    expect.stringContaining('come from https://other.example 7'),
  ])
  events.exec('delete from sync_listeners')
  events.close()
})

test("a sync continues if the inbox can't be opened", async () => {
  here.configure(own)
  for (const end of ['', '-wal', '-shm']) rmSync(`${inbox()}${end}`, { force: true })
  writeFileSync(inbox(), 'not a database, and long enough to be read as one'.repeat(100))
  const ended = await here.run('sync')
  expect([ended.code, ended.stdout + ended.stderr]).toEqual([0, expect.stringContaining('they wait')])
  expect((await list()).code).toBe(3)
})
