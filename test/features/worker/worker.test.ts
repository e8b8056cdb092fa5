/**
 * Workers that stay up, and `schedule`, which sends them rounds. Workers that end with a round, and what is told of deliveries
 * that nobody takes: test/transcripts/shards.txt. Workers that are killed: test/long.
 */
import { beforeAll, expect, test } from 'vitest'
import type { Reason } from '../../../src/engine/base/reasons.js'
import { onServer } from '../../support/harness/databases.js'
import { becomes } from '../../support/harness/declared.js'
import { type Address, place } from '../../support/harness/place.js'
import { stall } from '../../support/harness/sandbox.js'
import { onlyJob, until, writeJob } from '../../support/harness/scheduler.js'
import { type Up, upHere } from '../../support/harness/uphere.js'
import { bothWarehouses, reopen, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'

interface StatusReport {
  readonly workers?: { readonly up: number; readonly rounds: readonly { readonly job: string }[] }
}

const here = await place({ tenants: 5, repairOrders: 3 })
let warehouse: Warehouse
let address: Address

const configure = (more: Record<string, object> = {}): void =>
  here.configure({
    warehouse: { ...address },
    sync: { resources: ['notes', 'shops'] },
    workers: { listen: { port: 0 } },
    ...more,
  })

beforeAll(async () => {
  const [, postgres] = bothWarehouses()
  address = await postgres!.viewed()
  configure()
  warehouse = await reopen(address)
})

/** How the runs of a job have ended. */
const runs = async (job: string) => {
  const rows = (await rowsOf(warehouse, 'sync_runs')).filter((run) => run.job === job)
  const inOrder = rows.toSorted((a, b) => Number(a.seq) - Number(b.seq))
  return inOrder.map(({ shard, mode, status }) => `${shard ?? mode} ${status}`)
}

const start = (...words: string[]): Promise<Up> =>
  upHere(words, { cwd: here.folder, env: { API_SECRET: here.sandbox.secret } })

const seen = async (job: string): Promise<string[]> => {
  const { deliveries = [] } = (await warehouse.dialect.deliveries.seen()) ?? {}
  return deliveries.filter((one) => one.job === job).map(({ part, status }) => `${part} ${status}`)
}

/** What is to be tried again after a while is due now. */
const hurry = () => onServer(address.url, 'update shopsync_queue.job set start_after = now()')

test('`schedule` sends a round and works on none of it; with schedule.work it is a worker', async () => {
  onlyJob(here.folder, 'planned', { schedule: '0 4 1 1 *' })
  // Due at once, because the warehouse is empty.
  configure({ schedule: { listen: { port: 0 }, shards: 2 } })
  const before = here.sandbox.requests.length
  const sender = await start('schedule')
  await until(async () => (await seen('planned')).length === 2)
  expect(await seen('planned')).toEqual(['0/2 waiting', '1/2 waiting'])
  expect(here.sandbox.requests.length).toBe(before)
  expect(await sender.end()).toMatchObject({ code: 0 })
  const { workers } = (await here.run('status', '--json')).json<StatusReport>()
  expect(workers?.rounds.find(({ job }) => job === 'planned')).toMatchObject({
    shards: 2,
    done: 0,
    active: 0,
    waiting: 2,
    workers: 0,
    whole: null,
  })
  configure({ schedule: { listen: { port: 0 }, shards: 2, work: true } })
  const working = await start('schedule')
  await until(async () => (await runs('planned')).includes('whole ok'))
  expect(await working.end()).toMatchObject({ code: 0 })
  const { stdout } = await here.run('status')
  expect(stdout).toMatch(/planned since \S+ \S+( UTC)?: 2 of 2 shards done\n/)
  configure()
})

test('SIGTERM puts the shard and its lease back, and the next worker continues', async () => {
  writeJob(here.folder, 'ended')
  await here.run('run', 'ended', '--enqueue', '1')
  const asked = stall(here.sandbox, 'notes')
  const worker = await start('worker', '--json')
  const { url } = worker
  await Promise.race([asked, worker.call.ended])
  expect(await seen('ended')).toEqual(['0/1 active'])
  expect(await (await fetch(`${url}/ready`)).json()).toMatchObject({ ready: true, running: ['ended 0/1'] })
  expect((await (await fetch(`${url}/health`)).json()) as object).toMatchObject({ status: 'ok' })
  const metrics = await (await fetch(`${url}/metrics`)).text()
  for (const line of ['shopsync_workers 1', 'shopsync_deliveries{status="active"} 1'])
    expect(metrics).toContain(`\n${line}\n`)
  // Another one on this machine works without a server.
  const { port } = new URL(url)
  configure({ workers: { listen: { port: Number(port) } } })
  expect(await here.run('worker', '--once', '--log-level', 'warn')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('No server is listening; the worker works on'),
  })
  configure()
  const ended = await worker.end()
  expect(ended.code, ended.stderr).toBe(0)
  expect(ended.json()).toMatchObject({ parallel: 1, url: expect.stringMatching(/^http:/) })
  expect(await seen('ended')).toEqual(['0/1 waiting'])
  expect((await rowsOf(warehouse, 'sync_lease')).filter(({ owner }) => owner !== null)).toEqual([])
  here.sandbox.script([])
  await hurry()
  expect((await here.run('worker', '--once')).code).toBe(0)
  expect((await runs('ended')).filter((run) => run.endsWith('ok'))).toEqual(['0/1 ok', 'whole ok'])
  // What workers once did is of interest as long as jobs are divided for them.
  const status = async () => (await here.run('status', '--json')).json<StatusReport>().workers
  expect(await status()).toBeUndefined()
  configure({ schedule: { shards: 2 } })
  expect(await status()).toMatchObject({ up: 0 })
  configure()
})

test('a worker survives whatever is wrong with its queue, says so, and works on once it is dropped', async () => {
  writeJob(here.folder, 'after', { steps: [{ command: 'sync', resources: ['notes'] }] })
  await onServer(address.url, 'drop schema if exists shopsync_queue cascade')
  const worker = await start('worker')
  await until(async () => ((await warehouse.dialect.deliveries.seen())?.workers ?? 0) > 0)
  await onServer(address.url, 'alter table shopsync_queue.job rename column data to gone')
  const said = (): string => worker.call.stderr.text
  await until(async () => said().includes('Waiting for its queue of deliveries'))
  expect(said()).toContain('drop schema shopsync_queue cascade')
  await onServer(address.url, 'drop schema shopsync_queue cascade')
  expect((await here.run('run', 'after', '--enqueue', '1')).code).toBe(0)
  await until(async () => (await runs('after')).includes('whole ok'))
  expect(await worker.end()).toMatchObject({ code: 0 })
})

test('what becomes of a delivery follows from how its run ended', () => {
  const after = (exitCode: number | undefined, reason: Reason | null = null, isEnding = false) =>
    becomes({ exitCode, reason }, isEnding)
  expect([0, 1, 2, undefined].map((code) => after(code))).toEqual(['done', 'done', 'done', 'done'])
  expect([3, 4].map((code) => after(code))).toEqual(['later', 'later'])
  // An error of ours: four times, later and later; the next round tries again.
  expect([0, 3, 4].map((deaths) => becomes({ exitCode: 70, reason: null }, false, deaths))).toEqual([
    ...['broken', 'broken', 'done'],
  ])
  expect(after(70, null, true)).toBe('later')
  expect([after(1, 'time_limit'), after(1, 'wanted')]).toEqual(['now', 'now'])
  // A signal ended it, or came when it was done.
  expect([after(1, 'interrupted', true), after(0, null, true)]).toEqual(['later', 'done'])
})
