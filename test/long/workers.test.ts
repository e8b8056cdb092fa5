/**
 * Workers as processes that are killed and replaced: how soon their shards go on. Commands that need the whole warehouse get
 * their turn beside them. Whatever becomes of workers and of Postgres, nothing is lost: test/laws/pool.test.ts.
 */
import { spawn, spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { onServer } from '../support/harness/databases.js'
import { type Address, type Place, place } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { nextRequest, stall } from '../support/harness/sandbox.js'
import { writeJob } from '../support/harness/scheduler.js'
import { bothWarehouses, reopen, rowsOf, type Warehouse } from '../support/harness/warehouse.js'

const resources = ['notes', 'shops', 'customers']
const tenants = 6

let here: Place
let address: Address
let warehouse: Warehouse
const started: { kill(signal: NodeJS.Signals): unknown }[] = []

const configure = (more: Record<string, object> = {}): void =>
  here.configure({
    sync: { resources },
    workers: { listen: { port: 0 } },
    ...more,
    warehouse: { url: address.url, schema: address.schema, ...more.warehouse },
  })

beforeEach(async () => {
  const [, postgres] = bothWarehouses()
  address = await postgres!.migrated()
  here = await place({ tenants, repairOrders: 5 })
  configure()
  writeJob(here.folder, 'mine', { steps: [{ command: 'sync' }, { command: 'snapshot' }] })
  warehouse = await reopen(address)
})
afterEach(async () => {
  for (const one of started.splice(0)) one.kill('SIGKILL')
  await warehouse.close()
})

const environment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  API_SECRET: here.sandbox.secret,
})

function startWorker(...words: string[]): Program {
  const run = new Program(program, ['worker', ...words], { cwd: here.folder, env: environment() })
  started.push(run)
  return run
}

const enqueue = async (shards: number): Promise<void> => {
  const { code, stderr } = await here.run('run', 'mine', '--enqueue', String(shards))
  expect(code, stderr).toBe(0)
}

async function runs(): Promise<string[]> {
  const rows = await warehouse.read((db) =>
    db.selectFrom('sync_runs').select(['shard', 'mode', 'status']).orderBy('seq').execute(),
  )
  return rows.map(({ shard, mode, status }) => `${shard ?? mode} ${status}`)
}

const roundIsDone = () => expect.poll(runs, { timeout: 300_000, interval: 500 }).toContain('whole ok')

/** Every cell as a single process's warehouse has it, but for what says when and by which run it was stored. */
async function isEqual(): Promise<void> {
  here.sandbox.script([])
  expect((await here.run('reconcile', '--full')).code).toBe(0)
  expect((await here.run('verify')).code).toBe(0)
}

/** A machine of its own, as far as anybody can tell: no other process has its pids. */
const elsewhere = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child=SIGKILL']
const canBeElsewhere = spawnSync('unshare', [...elsewhere.slice(1), 'true']).status === 0
if (!canBeElsewhere) console.warn('Not checked: a worker on another machine (unshare is not permitted)')

it.each([
  ['its own machine', 40, []],
  ['another machine', 75, elsewhere],
])('one that is killed is replaced on %s within %i seconds', async (_where, seconds, machine) => {
  if (machine.length > 0 && !canBeElsewhere) return
  await enqueue(1)
  const asked = stall(here.sandbox, 'notes')
  const [command = '', ...words] = [...machine, process.execPath, '--', program, 'worker']
  const first = spawn(command, words, { cwd: here.folder, env: environment(), stdio: 'ignore' })
  started.push(first)
  await asked
  startWorker()
  const again = nextRequest(here.sandbox, 'notes')
  first.kill('SIGKILL')
  here.sandbox.script([])
  await expect(Promise.race([again.then(() => 'goes on'), sleep(seconds * 1000)])).resolves.toBe('goes on')
  await roundIsDone()
  expect(await runs()).toEqual(['0/1 interrupted', '0/1 ok', 'whole ok'])
  await isEqual()
})

it('one that may not change tables waits until somebody has', async () => {
  configure({ warehouse: { autoMigrate: false } })
  await onServer(address.url, `alter table ${address.schema}.notes drop column _extra`)
  const worker = startWorker()
  let said = ''
  worker.child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await expect.poll(() => said, { timeout: 60_000 }).toContain('type shopsync migrate')
  await enqueue(1)
  expect((await here.run('migrate')).code).toBe(0)
  await roundIsDone()
  worker.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
})

it('one that is older than the warehouse gives its shard back, and ends with 2', async () => {
  const worker = startWorker()
  await expect
    .poll(async () => (await here.run('status', '--json')).json<{ workers?: { up: number } }>().workers?.up, {
      timeout: 60_000,
    })
    .toBe(1)
  const raise = (by: number) =>
    onServer(
      address.url,
      `update ${address.schema}.sync_meta set value = value::int + ${by} where name = 'schema_version'`,
    )
  await raise(1)
  await enqueue(1)
  const { code, stderr } = await worker.ended
  expect([code, stderr]).toEqual([2, expect.stringContaining('this program knows versions up to')])
  expect(await runs()).toEqual([])
  await raise(-1)
  expect((await here.run('worker', '--once')).code).toBe(0)
  expect(await runs()).toEqual(['0/1 ok', 'whole ok'])
})

it.each([['forget', '--tenant', '101', '--yes'], ['migrate'], ['copy', '--to', 'sqlite:./copied.db']])(
  'beside busy workers, %s gets the whole warehouse within two minutes',
  async (...words) => {
    // Only `shopsync migrate` changes tables: not the workers.
    configure({ sync: { resources, concurrency: 1 }, warehouse: { autoMigrate: false } })
    expect((await here.run('sync')).code).toBe(0)
    // A shard takes far longer than two minutes.
    here.sandbox.onRequest(() => sleep(20_000))
    startWorker()
    startWorker()
    await enqueue(4)
    const atWork = async (): Promise<number> =>
      (await rowsOf(warehouse, 'sync_lease')).filter(({ name, owner }) => name !== 'run' && owner !== null)
        .length
    await expect.poll(atWork, { timeout: 120_000, interval: 500 }).toBe(2)
    if (words[0] === 'migrate')
      await onServer(address.url, `drop table ${address.schema}.gp_exceptions cascade`)
    const command = new Program(program, words, { cwd: here.folder, env: environment() })
    const ended = Promise.race([command.ended.then(({ code, stderr }) => [code, stderr]), sleep(120_000)])
    expect(await ended).toEqual([0, expect.anything()])
    const reasons = (await rowsOf(warehouse, 'sync_runs')).map(({ reason }) => reason)
    // Tables are made without the lease.
    expect(reasons.includes('wanted')).toBe(words[0] !== 'migrate')
  },
)
