/**
 * npm run bench -- peers [--contenders shopsync,dlt,singer,airbyte] [--notes 4600] [--orders 10000] [--rounds 3] [--print]
 *
 * shopsync next to other tools on the same source: what arrives of a list that shifts while it is read, and how long loads
 * take. Each has the defaults of its documentation's first example (bench/peers/). Each run is a process of its own,
 * measured from its start to its end with all its children. A tool that can't be installed is left out. The results go
 * into results.json in that folder, and as tables (bench/peers/tables.py) into docs/comparison.md and README; with
 * `--print`, only to the terminal.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createSandbox, type Sandbox, template } from '../src/sandbox/index.js'
import { askServer } from '../test/support/harness/databases.js'
import { inFolder, options } from './kit.js'
import { loadOf } from './load.js'
import { type Contender, Entry, python } from './peers/peer.js'
import { countOf, resourcesOf } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { empty, quieten, schema, withWarehouses } from './warehouse.js'

const { notes, orders, rounds, ...flags } = options({
  contenders: 'shopsync,dlt,singer,airbyte',
  notes: 4600,
  orders: 10_000,
  rounds: 3,
  print: false,
})
const say = (text: string): void => void process.stderr.write(`${text}\n`)
const failures = new Set<string>()

/** A tool that fails doesn't end the comparison: its failure is one of the results. */
async function attempt<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    failures.add(`${what}: ${error instanceof Error ? error.message : error}`)
    say([...failures].at(-1) ?? '')
    return undefined
  }
}

/** Of the notes: deleted during the first load, after they were read; appearing late; deleted between two runs. */
const list = { notes, shifted: 14, late: 40, deleted: 60 }

/** What happens before each run; at first there is a note every 37 seconds. */
function story({ store, script }: Sandbox): (() => void)[] {
  const newest = Date.now()
  const add = (id: number, seconds: number): void =>
    store.put(1, 'notes', template('notes', id, new Date(newest - seconds * 1000).toISOString()))
  const fill = (): void => {
    for (let i = 0; i < notes; i++) add(notes - i, i * 37)
    const every = Math.max(1, Math.floor(notes / 100 / (list.shifted + 1)))
    const when = { resource: 'notes', kind: 'list', perPage: 100, every } as const
    // A note of the first page: whoever reads on misses the first note of the next page.
    script([{ when, times: list.shifted, after: { kind: 'delete', ranks: [50] } }])
  }
  const commitLate = (): void => {
    for (let i = 0; i < list.late; i++) add(notes + 1 + i, 60 + (i * 180) / list.late)
  }
  const remove = (): void => {
    const ids = store.ids(1, 'notes')
    for (let i = 0; i < list.deleted; i++)
      store.remove(1, 'notes', ids[Math.floor((i * ids.length) / list.deleted)] ?? 0)
  }
  return [fill, () => script([]), commitLate, remove]
}

async function shifting(contender: Contender, url: string): Promise<object> {
  const { name, peer } = contender
  const source = await createSandbox({ data: 'none', tenants: [{ id: 1 }], secret: 'bench-secret' })
  const runs: object[] = []
  await empty(url)
  await inFolder(async (folder) => {
    const entry = new Entry(contender, folder, { ...loadOf(url, source, 'tidy', 1), resources: ['notes'] })
    const run = async (command: string): Promise<void> => {
      source.resetRequests()
      await entry.run(command)
      const { length: requests } = source.requests
      const live = `select id from ${schema}.notes ${peer ? '' : 'where _deleted_at is null'}`
      const stored = new Set((await askServer<{ id: string }>(url, live)).map(({ id }) => Number(id)))
      const listed = source.store.ids(1, 'notes')
      const both = listed.filter((id) => stored.has(id)).length
      runs.push({ listed: listed.length, missing: listed.length - both, shown: stored.size - both, requests })
      say(`${name}, ${command}: ${JSON.stringify(runs.at(-1))}`)
    }
    for (const happens of story(source)) {
      happens()
      await run('sync')
    }
    if (!peer) await run('reconcile')
  }).finally(() => source.close())
  return { contender: name, runs }
}

/** First loads of all lists of a source, each with a run that finds nothing new. `latency`: in milliseconds. */
const scenes = [
  { tenants: 1, orders, latency: 0, rounds },
  { tenants: 1, orders: orders * 3, latency: 0, rounds: 1 },
  { tenants: 1, orders: orders / 2, latency: 200, rounds: 1 },
  { tenants: 30, orders: orders / 250, latency: 0, rounds: 1 },
]
type Scene = (typeof scenes)[number]
const datasetOf = ({ tenants }: Scene) => (tenants === 1 ? 'tidy' : 'lifelike')

async function loaded(entry: Entry, scene: Scene, source: BenchSource): Promise<object> {
  await empty(entry.load.url)
  await source.requests()
  const first = await entry.run()
  const requests = await source.requests()
  const again = await entry.run()
  const found = { ...first, requests, again: { ...again, requests: await source.requests() } }
  const rows = await entry.rows()
  for (const name of resourcesOf(datasetOf(scene)))
    if (rows[name] !== scene.tenants * countOf(name, scene.orders))
      throw new Error(`${rows[name]} of ${scene.tenants * countOf(name, scene.orders)} ${name} are stored`)
  say(`${entry.contender.name}: ${JSON.stringify(found)}`)
  return { ...found, rows }
}

/** With its defaults; if these fail, with what it needs instead. */
async function load(contender: Contender, warehouse: string, url: string, scene: Scene, source: BenchSource) {
  const { name, otherwise } = contender
  for (const settings of [{}, ...(otherwise ? [otherwise] : [])]) {
    const what = [name, ...Object.entries(settings).map((one) => one.join('='))].join(', ')
    const given = loadOf(url, source, datasetOf(scene), scene.tenants)
    const found = await attempt(`${what}, ${warehouse}, ${scene.tenants} × ${scene.orders}`, () =>
      inFolder((folder) => loaded(new Entry(contender, folder, given, settings), scene, source)),
    )
    if (found) return [{ contender: what, warehouse, ...found }]
  }
  return []
}

const contenders = await python<Contender[]>(['about', ...flags.contenders.split(',')])
const found = await withWarehouses('sqlite,postgres', async ([file, server]) => {
  const [fileUrl, serverUrl] = [file?.url ?? '', server?.url ?? '']
  await quieten(serverUrl)
  const arrivals: object[] = []
  for (const one of contenders) {
    const found = await attempt(`${one.name}, the shifting list`, () => shifting(one, serverUrl))
    if (found) arrivals.push(found)
  }
  const loads: object[] = []
  for (const scene of scenes) {
    using source = await BenchSource.start(scene.tenants, scene.orders, datasetOf(scene))
    await source.latency(scene.latency)
    const samples: object[] = []
    for (let round = 0; round < scene.rounds; round++)
      for (const one of contenders.filter(({ lag }) => lag === undefined))
        for (const warehouse of one.warehouses) {
          const url = warehouse === 'Postgres' ? serverUrl : fileUrl
          samples.push(...(await load(one, warehouse, url, scene, source)))
        }
    loads.push({ ...scene, samples })
  }
  return { list, arrivals, loads, failures: [...failures] }
})

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const own = { shopsync: version, node: process.version.slice(1), cores: availableParallelism() }
const results = { date: new Date().toISOString().slice(0, 10), ...own, contenders, ...found }
await inFolder(async (folder) => {
  const file = flags.print ? join(folder, 'results.json') : 'bench/peers/results.json'
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
  const pages = flags.print ? [] : ['docs/comparison.md', 'README.md']
  spawnSync('python3', ['bench/peers/tables.py', file, ...pages], { stdio: 'inherit' })
})
