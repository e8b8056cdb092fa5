/** Commands that need the whole warehouse, beside workers that always have something to do; and what a round does once. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { onServer } from '../support/harness/databases.js'
import { type Address, type Place, place } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { writeJob } from '../support/harness/scheduler.js'
import { bothWarehouses, reopen, rowsOf, type Warehouse } from '../support/harness/warehouse.js'

const twoMinutes = 120_000

let here: Place
let address: Address
let warehouse: Warehouse
let server: Server
const beats: string[] = []
const workers: Program[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    beats.push(request.url ?? '')
    response.end()
  }).listen(0, '127.0.0.1')
  const [, postgres] = bothWarehouses()
  address = await postgres!.migrated()
  here = await place({ tenants: 8, repairOrders: 5 })
  here.configure({
    api: { allowInsecure: true },
    sync: { resources: ['notes', 'shops', 'customers'], concurrency: 1 },
    workers: { listen: { port: 0 } },
    // Only `shopsync migrate` changes tables: not the workers.
    warehouse: { url: address.url, schema: address.schema, autoMigrate: false } as object,
  })
  const { port } = server.address() as AddressInfo
  writeJob(here.folder, 'mine', {
    steps: [{ command: 'sync' }, { command: 'snapshot' }],
    heartbeat: `http://127.0.0.1:${port}/`,
  })
  warehouse = await reopen(address)
  expect((await here.run('sync')).code).toBe(0)
  // A shard takes far longer than two minutes.
  here.sandbox.onRequest(() => sleep(pace))
  const env = { PATH: process.env.PATH ?? '', API_SECRET: here.sandbox.secret }
  for (let n = 0; n < 2; n++) workers.push(new Program(program, ['worker'], { cwd: here.folder, env }))
})
afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL')
  server.close()
  await warehouse.close()
  await here.remove()
})

/** Milliseconds that each answer of the source takes. */
let pace = 20_000

/** Shards that are at work now. */
const atWork = async (): Promise<number> =>
  (await rowsOf(warehouse, 'sync_lease')).filter(({ name, owner }) => name !== 'run' && owner !== null).length

async function sent(): Promise<void> {
  const { code, stderr } = await here.run('run', 'mine', '--enqueue', '4')
  expect([0, 4], stderr).toContain(code)
}

it.each([['forget', '--tenant', '101', '--yes'], ['migrate'], ['copy', '--to', 'sqlite:./copied.db']])(
  'beside busy workers, %s gets the whole warehouse within two minutes',
  async (...words) => {
    await sent()
    await expect.poll(atWork, { timeout: twoMinutes, interval: 500 }).toBe(2)
    if (words[0] === 'migrate')
      await onServer(address.url, `drop table ${address.schema}.gp_exceptions cascade`)
    const cut = async (): Promise<number> =>
      (await rowsOf(warehouse, 'sync_runs')).filter(({ reason }) => reason === 'wanted').length
    const before = await cut()
    const env = { PATH: process.env.PATH ?? '', API_SECRET: here.sandbox.secret }
    const command = new Program(program, words, { cwd: here.folder, env })
    const ended = Promise.race([command.ended.then(({ code, stderr }) => [code, stderr]), sleep(twoMinutes)])
    expect(await ended).toEqual([0, expect.anything()])
    // Tables are made without the lease.
    if (words[0] !== 'migrate') expect(await cut()).toBeGreaterThan(before)
  },
)

it('a round takes its snapshot after all shards, and calls its heartbeat once', async () => {
  pace = 0
  const whole = async () => (await rowsOf(warehouse, 'sync_runs')).filter(({ mode }) => mode === 'whole')
  const isIdle = async (): Promise<boolean> =>
    (await whole()).length > 0 && (await whole()).every(({ finished_at }) => finished_at !== null)
  await expect.poll(isIdle, { timeout: 300_000, interval: 1000 }).toBe(true)
  for (let n = 0; n < 2; n++) {
    const before = (await whole()).length
    await expect
      .poll(async () => (await here.run('run', 'mine', '--enqueue', '4')).code, { timeout: 60_000 })
      .toBe(0)
    await expect
      .poll(async () => (await whole()).filter(({ finished_at }) => finished_at !== null).length, {
        timeout: 300_000,
        interval: 1000,
      })
      .toBe(before + 1)
  }
  const runs = await rowsOf(warehouse, 'sync_runs')
  const rounds = runs.filter(({ mode, planned_at }) => mode === 'whole' && planned_at !== null)
  for (const round of rounds) {
    const shards = runs.filter(({ shard, planned_at }) => shard !== null && planned_at === round.planned_at)
    expect(new Set(shards.map(({ shard }) => shard)).size).toBe(4)
    for (const { finished_at } of shards) expect(String(finished_at) <= String(round.started_at)).toBe(true)
  }
  expect(new Set(rounds.map(({ planned_at }) => planned_at)).size).toBe(rounds.length)
  expect(beats).toHaveLength(rounds.length)
  const [last] = rounds.toSorted((a, b) => (String(a.started_at) < String(b.started_at) ? 1 : -1))
  for (const { _synced_at } of await rowsOf(warehouse, 'daily_snapshots'))
    expect(String(_synced_at) >= String(last?.started_at)).toBe(true)
})
