/**
 * npm run bench:workers -- [--tenants 200] [--orders 20] [--workers 1,2,4] [--limit 400] [--size 10000]
 *
 * Processes of `shopsync worker` that share the first load of many tenants (docs/scale.md). The source answers after 200
 * ms. Without a limit: how much faster more workers are, and what of the processors each process takes. With --limit
 * requests every ten seconds: what all of them use of it together. --size: the peak memory of each of four workers over
 * so many tenants' idle lists. 0 leaves a part out.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import { Program, program } from '../test/support/harness/process.js'
import { fillIdle } from './idlelists.js'
import { modelOf } from './model.js'
import { processorSeconds } from './processes.js'
import { BenchSource } from './source/source.js'
import { empty, schema, serverPid, withWarehouses } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    tenants: { type: 'string', default: '200' },
    orders: { type: 'string', default: '20' },
    workers: { type: 'string', default: '1,2,4' },
    limit: { type: 'string', default: '400' },
    size: { type: 'string', default: '10000' },
  },
})
const latency = 200
/** Of the limit, in seconds. */
const window = 10
const unlimited = 1_000_000_000
const shards = 8

const withFolder = async <T>(use: (folder: string) => Promise<T>): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-workers-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function configure(folder: string, url: string, source: BenchSource): void {
  const config = {
    api: { baseUrl: source.url, partnerId: '42', secret: 'bench-secret' },
    warehouse: { url, schema },
    workers: { listen: false },
  }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  mkdirSync(join(folder, 'jobs'), { recursive: true })
  const job = { description: 'All lists of all tenants.', steps: [{ command: 'sync' }] }
  writeFileSync(join(folder, 'jobs/load.json'), JSON.stringify(job))
}

/** In megabytes; undefined once it has ended. */
function peakOf(pid: number): number | undefined {
  try {
    const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
  } catch {
    return undefined
  }
}

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
    const [cpu, peak] = [processorSeconds(pid), peakOf(pid)]
    if (cpu !== undefined && peak !== undefined) used = { cpu, peak }
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
async function round(folder: string, url: string, count: number, parts: number): Promise<Measured> {
  await promisify(execFile)(process.execPath, [program, 'run', 'load', '--enqueue', String(parts)], {
    cwd: folder,
  })
  const server = await serverPid(url)
  const before = processorSeconds(server ?? 0) ?? 0
  const workers = await Promise.all(Array.from({ length: count }, () => worked(folder)))
  const after = processorSeconds(server ?? 0) ?? 0
  const warehouse = await openWarehouse({ url, schema, model: modelOf(false) })
  const runs = await warehouse.db
    .selectFrom('sync_runs')
    .select(['status', 'started_at', 'finished_at', 'requests'])
    .where('shard', 'is not', null)
    .execute()
  await warehouse.close()
  const bad = runs.filter(({ status }) => status !== 'ok')
  if (runs.length !== parts || bad.length > 0) throw new Error(`Runs: ${JSON.stringify(runs)}`)
  const times = (of: 'started_at' | 'finished_at') => runs.map((run) => Date.parse(String(run[of])))
  return {
    seconds: (Math.max(...times('finished_at')) - Math.min(...times('started_at'))) / 1000,
    requests: runs.reduce((sum, { requests }) => sum + Number(requests), 0),
    workers,
    server: after - before,
  }
}

const migrate = (folder: string) =>
  promisify(execFile)(process.execPath, [program, 'migrate'], { cwd: folder })

/** The first load of all tenants by so many workers. */
async function load(url: string, count: number, limit: number): Promise<Measured> {
  await empty(url)
  const source = await BenchSource.start(
    Number(options.tenants),
    Number(options.orders),
    'lifelike',
    limit,
    limit === unlimited ? 3600 : window,
  )
  await source.latency(latency)
  try {
    return await withFolder(async (folder) => {
      configure(folder, url, source)
      await migrate(folder)
      return round(folder, url, count, shards)
    })
  } finally {
    source.stop()
  }
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const row = (...cells: (string | number)[]): void => say(`| ${cells.join(' | ')} |`)
const each = (used: readonly Used[], of: keyof Used): string =>
  used.map((one) => one[of].toFixed(0)).join(', ')

async function speed(url: string, counts: readonly number[]): Promise<void> {
  row(
    'workers',
    'requests',
    's',
    'requests/s',
    'of linear',
    'CPU s of each',
    'CPU s, Postgres',
    'processors busy',
  )
  say(`|${' ---: |'.repeat(8)}`)
  let alone: number | undefined
  for (const count of counts) {
    const { seconds, requests, workers, server } = await load(url, count, unlimited)
    alone ??= seconds * count
    const busy = (server + workers.reduce((sum, { cpu }) => sum + cpu, 0)) / seconds
    row(
      ...[count, requests, seconds.toFixed(1), (requests / seconds).toFixed(0)],
      ...[(alone / (seconds * count)).toFixed(2), each(workers, 'cpu'), server.toFixed(0)],
      `${busy.toFixed(2)} of ${availableParallelism()}`,
    )
  }
}

async function limited(url: string, counts: readonly number[], limit: number): Promise<void> {
  row('workers', 'requests', 's', 'requests/s', 'of the limit')
  say(`|${' ---: |'.repeat(5)}`)
  for (const count of counts) {
    const { seconds, requests } = await load(url, count, limit)
    const windows = Math.ceil(seconds / window)
    const share = (requests / (windows * limit)) * 100
    row(count, requests, seconds.toFixed(1), (requests / seconds).toFixed(1), `${share.toFixed(0)} %`)
  }
}

async function size(url: string, tenants: number): Promise<void> {
  await empty(url)
  const source = await BenchSource.start(tenants, 1, 'tidy', unlimited)
  try {
    await withFolder(async (folder) => {
      configure(folder, url, source)
      await migrate(folder)
      const warehouse = await openWarehouse({ url, schema, model: modelOf(false) })
      await fillIdle(warehouse, tenants)
      await warehouse.close()
      const { seconds, requests, workers } = await round(folder, url, 4, 4)
      row('tenants', 'requests', 's', 'peak MB of each')
      say(`|${' ---: |'.repeat(4)}`)
      row(tenants, requests, seconds.toFixed(0), each(workers, 'peak'))
    })
  } finally {
    source.stop()
  }
}

await withWarehouses(['postgres'], async ([warehouse]) => {
  const url = warehouse?.url ?? ''
  const counts = options.workers.split(',').map(Number).filter(Boolean)
  if (counts.length > 0) await speed(url, counts)
  if (counts.length > 0 && Number(options.limit) > 0) {
    say(`\n${options.limit} requests per ${window} seconds:\n`)
    await limited(url, counts, Number(options.limit))
  }
  if (Number(options.size) > 0) {
    say('')
    await size(url, Number(options.size))
  }
})
