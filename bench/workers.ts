/**
 * npm run bench -- workers [--tenants 200] [--orders 20] [--workers 1,2,4] [--limit 400]
 *
 * Processes of `shopsync worker` that share the first load of many tenants (docs/scale.md). The source answers after 200
 * ms. Without a limit: how much faster more workers are, and what of the processors each process takes. With --limit
 * requests every ten seconds: what all of them use of it together; 0 leaves that out.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Program, program } from '../test/support/harness/process.js'
import { Installed, inFolder, options, percent, print, say, withOpen } from './kit.js'
import { processorSeconds } from './processes.js'
import { BenchSource } from './source/source.js'
import { empty, serverPid, withWarehouses } from './warehouse.js'

const { tenants, orders, workers, limit } = options({
  tenants: 200,
  orders: 20,
  workers: '1,2,4',
  limit: 400,
})
const counts = workers.split(',').map(Number).filter(Boolean)
const latency = 200
/** Of the limit, in seconds. */
const window = 10
const unlimited = 1_000_000_000
const shards = 8

/** A worker until nothing waits: the processor time that it had used when it was last looked at. */
async function worked(folder: string): Promise<number> {
  const worker = new Program(program, ['worker', '--once', '--quiet'], { cwd: folder })
  let used = 0
  const timer = setInterval(() => {
    used = processorSeconds(worker.child.pid ?? 0) ?? used
  }, 200)
  const { code, stderr } = await worker.ended
  clearInterval(timer)
  if (code !== 0) throw new Error(`A worker ended with ${code}: ${stderr}`)
  return used
}

/** A job that syncs everything, on so many workers, from the beginning of its first shard to the end of its last. */
async function round(made: Installed, url: string, count: number) {
  mkdirSync(join(made.folder, 'jobs'))
  const job = { description: 'All lists of all tenants.', steps: [{ command: 'sync' }] }
  writeFileSync(join(made.folder, 'jobs/load.json'), JSON.stringify(job))
  await made.run(['migrate'])
  await made.run(['run', 'load', '--enqueue', String(shards)])
  const server = (await serverPid(url)) ?? 0
  const before = processorSeconds(server) ?? 0
  const all = await Promise.all(Array.from({ length: count }, () => worked(made.folder)))
  const after = processorSeconds(server) ?? 0
  const runs = await withOpen(url, ({ db }) =>
    db.selectFrom('sync_runs').selectAll().where('shard', 'is not', null).execute(),
  )
  const bad = runs.filter(({ status }) => status !== 'ok')
  if (runs.length !== shards || bad.length > 0) throw new Error(`Runs: ${JSON.stringify(runs)}`)
  const times = (of: 'started_at' | 'finished_at') => runs.map((run) => Date.parse(String(run[of])))
  return {
    seconds: (Math.max(...times('finished_at')) - Math.min(...times('started_at'))) / 1000,
    requests: runs.reduce((sum, { requests }) => sum + Number(requests), 0),
    /** Processor seconds of each worker, and of the server. */
    workers: all,
    server: after - before,
  }
}

/** The first load of all tenants by so many workers. */
async function load(url: string, count: number, most: number) {
  const length = most === unlimited ? 3600 : window
  using source = await BenchSource.start(tenants, orders, 'lifelike', most, length)
  await source.latency(latency)
  // Awaited: the source ends with this function.
  return await inFolder(async (folder) => {
    await empty(url)
    const made = new Installed(folder)
    made.configure(url, source, { workers: { listen: false } })
    return round(made, url, count)
  })
}

async function speed(url: string): Promise<void> {
  let alone: number | undefined
  const rows: string[][] = []
  for (const count of counts) {
    const { seconds, requests, workers: all, server } = await load(url, count, unlimited)
    alone ??= seconds * count
    const busy = all.reduce((sum, cpu) => sum + cpu, server) / seconds
    const rates = [requests, seconds.toFixed(1), (requests / seconds).toFixed(0)].map(String)
    const each = all.map((cpu) => cpu.toFixed(0)).join(', ')
    const shares = [(alone / (seconds * count)).toFixed(2), each, server.toFixed(0)]
    rows.push([String(count), ...rates, ...shares, `${busy.toFixed(2)} of ${availableParallelism()}`])
  }
  const heads = ['workers', 'requests', 's', 'requests/s', 'of linear']
  print([...heads, 'CPU s of each', 'CPU s, Postgres', 'processors busy'], rows)
}

async function limited(url: string): Promise<void> {
  const rows: string[][] = []
  for (const count of counts) {
    const { seconds, requests } = await load(url, count, limit)
    const share = percent(requests / (Math.ceil(seconds / window) * limit))
    rows.push([String(count), String(requests), seconds.toFixed(1), (requests / seconds).toFixed(1), share])
  }
  say(`\n${limit} requests per ${window} seconds:\n`)
  print(['workers', 'requests', 's', 'requests/s', 'of the limit'], rows)
}

await withWarehouses('postgres', async ([warehouse]) => {
  const url = warehouse?.url ?? ''
  if (counts.length > 0) await speed(url)
  if (counts.length > 0 && limit > 0) await limited(url)
})
