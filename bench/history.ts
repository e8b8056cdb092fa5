/**
 * npm run bench:history -- [--rounds 5] [--records 12000] [--tenants 4] [--dataset lifelike] [--warehouses
 * sqlite,postgres]
 *
 * The cost of keeping ended versions: the product with the history of every resource, and without, in turn, each load
 * in its own process. *first* is a load into empty tables, *again* a `sync --full` over the same, *changed* a run after
 * 5 % of the records have changed. Measures processor time of the process and of the database server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { measured } from './benchmark.js'
import type { Phase } from './measure.js'
import { processorSeconds } from './processes.js'
import { datasets, resourcesOf } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { median, medianInterval } from './stats.js'
import { type BenchWarehouse, empty, quieten, schema, serverPid, withWarehouses } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    records: { type: 'string', default: '12000' },
    tenants: { type: 'string', default: '4' },
    dataset: { type: 'string', default: 'lifelike' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
  },
})

const phases: readonly Phase[] = ['first', 'again', 'changed']
const tenants = Number(options.tenants)
/** One of this many records changes: 5%. */
const every = 20
/** How long the server takes to reap the processes of closed connections. */
const reapMs = 200

/** Processor seconds of process and server together, by phase. */
type Costs = Record<Phase, number>

async function load(warehouse: BenchWarehouse, source: BenchSource, history: boolean): Promise<Costs> {
  const dataset = datasets.find((known) => known === options.dataset) ?? 'lifelike'
  const postgres = warehouse.name === 'postgres'
  const server = postgres ? await serverPid(warehouse.url) : undefined
  const used = async (): Promise<number> => {
    if (server === undefined) return 0
    await sleep(reapMs)
    return processorSeconds(server) ?? 0
  }
  const updatedAfter = '1970-01-01T00:00:00Z'
  const resources = resourcesOf(dataset)
  const task = { url: warehouse.url, schema, source: source.url, tenants, resources, updatedAfter, history }
  await source.reset()
  await empty(warehouse.url)
  await measured({ ...task, contender: 'prepare', phase: 'first' })
  const costs: Costs = { first: 0, again: 0, changed: 0 }
  for (const phase of phases) {
    if (phase === 'changed') await source.change(every)
    const before = await used()
    const { cpu } = await measured({ ...task, contender: 'shopsync', phase })
    costs[phase] = cpu + (await used()) - before
  }
  return costs
}

async function compare(warehouse: BenchWarehouse, source: BenchSource): Promise<string> {
  const pairs: { on: Costs; off: Costs }[] = []
  for (let round = 0; round < Number(options.rounds); round++) {
    const first = await load(warehouse, source, round % 2 === 0)
    const second = await load(warehouse, source, round % 2 === 1)
    pairs.push(round % 2 === 0 ? { on: first, off: second } : { on: second, off: first })
    process.stderr.write(`${warehouse.name} ${JSON.stringify(pairs.at(-1))}\n`)
  }
  return phases
    .map((phase) => {
      const [on, off] = [pairs.map((pair) => pair.on[phase]), pairs.map((pair) => pair.off[phase])]
      const ratio = medianInterval(on.map((cost, i) => cost / (off[i] ?? 1)))
      const cells = [median(off), median(on)].map((seconds) => seconds.toFixed(2))
      const span = `${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)}`
      return `| ${[warehouse.name, phase, ...cells, ratio.median.toFixed(2), span].join(' | ')} |\n`
    })
    .join('')
}

async function main(): Promise<void> {
  const dataset = datasets.find((known) => known === options.dataset)
  if (dataset === undefined) throw new Error(`--dataset ${options.dataset}: expected ${datasets.join(', ')}`)
  const source = await BenchSource.start(tenants, Number(options.records) / tenants, dataset)
  try {
    await withWarehouses(options.warehouses.split(','), async (warehouses) => {
      let text = '| warehouse | load | without, CPU s | with, CPU s | ratio | range |\n'
      text += '| --- | --- | ---: | ---: | ---: | ---: |\n'
      for (const warehouse of warehouses) {
        if (warehouse.name === 'postgres') await quieten(warehouse.url)
        text += await compare(warehouse, source)
      }
      process.stdout.write(text)
    })
  } finally {
    source.stop()
  }
}

await main()
