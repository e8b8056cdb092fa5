/**
 * npm run bench -- workers [--tenants 200] [--orders 20] [--workers 1,2,4] [--limit 400] [--size 10000]
 *
 * Processes of `shopsync worker` that share the first load of many tenants (docs/scale.md). The source answers after 200
 * ms. Without a limit: how much faster more workers are, and what of the processors each process takes. With --limit
 * requests every ten seconds: what all of them use of it together. --size: the peak memory of each of four workers over
 * so many tenants' idle lists. 0 leaves a part out.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Program, program } from '../test/support/harness/process.js'
import { fillIdle } from './idlelists.js'
import { Installed, inFolder, options, percent, print, say, withOpen } from './kit.js'
import { processorSeconds, residentMegabytes } from './processes.js'
import { BenchSource } from './source/source.js'
import { empty, serverPid, withWarehouses } from './warehouse.js'

const { tenants, orders, workers, limit, size } = options({
  tenants: 200,
  orders: 20,
  workers: '1,2,4',
  limit: 400,
  size: 10_000,
})
const counts = workers.split(',').map(Number).filter(Boolean)
const latency = 200
/** Of the limit, in seconds. */
const window = 10
const unlimited = 1_000_000_000
const shards = 8

/** A folder with a job that syncs everything, over an empty warehouse. */
const installed = <T>(url: string, source: BenchSource, use: (made: Installed) => Promise<T>): Promise<T> =>
  inFolder(async (folder) => {
    await empty(url)
    const made = new Installed(folder)
    made.configure(url, source, { workers: { listen: false } })
    mkdirSync(join(folder, 'jobs'))
    const job = { description: 'All lists of all tenants.', steps: [{ command: 'sync' }] }
    writeFileSync(join(folder, 'jobs/load.json'), JSON.stringify(job))
    await made.run(['migrate'])
    return use(made)
  })

interface Used {
  readonly cpu: number
  readonly peak: number
}

/** A worker until nothing waits, and what it had used when it was last looked at. */
async function worked(folder: string): Promise<Used> {
  const worker = new Program(program, ['worker', '--once', '--quiet'], { cwd: folder })
  const pid = worker.child.pid ?? 0
  let used: Used = { cpu: 0, peak: 0 }
  const timer = setInterval(() => {
    used = { cpu: processorSeconds(pid) ?? used.cpu, peak: Math.max(used.peak, residentMegabytes(pid)) }
  }, 200)
  const { code, stderr } = await worker.ended
  clearInterval(timer)
  if (code !== 0) throw new Error(`A worker ended with ${code}: ${stderr}`)
  return used
}

interface Measured {
  readonly seconds: number
  readonly requests: number
  readonly workers: readonly Used[]
  /** Processor seconds of the server. */
  readonly server: number
}

/** One round on so many workers, from the beginning of its first shard to the end of its last. */
async function round(made: Installed, url: string, count: number, parts: number): Promise<Measured> {
  await made.run(['run', 'load', '--enqueue', String(parts)])
  const server = await serverPid(url)
  const before = processorSeconds(server ?? 0) ?? 0
  const all = await Promise.all(Array.from({ length: count }, () => worked(made.folder)))
  const after = processorSeconds(server ?? 0) ?? 0
  const runs = await withOpen(url, (warehouse) =>
    warehouse.db
      .selectFrom('sync_runs')
      .select(['status', 'started_at', 'finished_at', 'requests'])
      .where('shard', 'is not', null)
      .execute(),
  )
  const bad = runs.filter(({ status }) => status !== 'ok')
  if (runs.length !== parts || bad.length > 0) throw new Error(`Runs: ${JSON.stringify(runs)}`)
  const times = (of: 'started_at' | 'finished_at') => runs.map((run) => Date.parse(String(run[of])))
  return {
    seconds: (Math.max(...times('finished_at')) - Math.min(...times('started_at'))) / 1000,
    requests: runs.reduce((sum, { requests }) => sum + Number(requests), 0),
    workers: all,
    server: after - before,
  }
}

/** The first load of all tenants by so many workers. */
async function load(url: string, count: number, most: number): Promise<Measured> {
  using source = await BenchSource.start(
    tenants,
    orders,
    'lifelike',
    most,
    most === unlimited ? 3600 : window,
  )
  await source.latency(latency)
  // Awaited: the source ends with this function.
  return await installed(url, source, (made) => round(made, url, count, shards))
}

const each = (used: readonly Used[], of: keyof Used): string =>
  used.map((one) => one[of].toFixed(0)).join(', ')

async function speed(url: string): Promise<void> {
  let alone: number | undefined
  const rows: string[][] = []
  for (const count of counts) {
    const { seconds, requests, workers: all, server } = await load(url, count, unlimited)
    alone ??= seconds * count
    const busy = (server + all.reduce((sum, { cpu }) => sum + cpu, 0)) / seconds
    const figures = [
      seconds.toFixed(1),
      (requests / seconds).toFixed(0),
      (alone / (seconds * count)).toFixed(2),
    ]
    const processors = `${busy.toFixed(2)} of ${availableParallelism()}`
    rows.push([String(count), String(requests), ...figures, each(all, 'cpu'), server.toFixed(0), processors])
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

async function memory(url: string): Promise<void> {
  using source = await BenchSource.start(size, 1, 'tidy', unlimited)
  const {
    seconds,
    requests,
    workers: all,
  } = await installed(url, source, async (made) => {
    await withOpen(url, (warehouse) => fillIdle(warehouse, size))
    return round(made, url, 4, 4)
  })
  say('')
  print(
    ['tenants', 'requests', 's', 'peak MB of each'],
    [[size, requests, seconds.toFixed(0), each(all, 'peak')]],
  )
}

await withWarehouses('postgres', async ([warehouse]) => {
  const url = warehouse?.url ?? ''
  if (counts.length > 0) await speed(url)
  if (counts.length > 0 && limit > 0) await limited(url)
  if (size > 0) await memory(url)
})
