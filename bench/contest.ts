/**
 * npm run bench -- [--dataset tidy,lifelike,hostile] [--records 20000] [--tenants 4] [--rounds 3]
 *   [--warehouses sqlite,postgres] [--phases first,again,changed] [--contenders read,shopsync,write] [--print]
 *
 * The product next to its limits: `read` fetches and parses every page and does nothing else; `write` stores the same
 * rows, already prepared, in the fastest way known. On two cores, no program can beat the longer of the two. Each
 * measured run has its own process, against a source in another one, round after round. The tables go into
 * docs/dev/performance.md; with `--print`, only to the terminal.
 */
import { oneOf, options, rowsIn, total } from './kit.js'
import { changedEach, loadOf, measured, type Own, type Phase, type Task, tablesOf } from './load.js'
import { type Results, type Sample, tables, writeResults } from './results.js'
import { type Dataset, datasets, resourcesOf } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { type BenchWarehouse, empty, quieten, withWarehouses } from './warehouse.js'

const { records, tenants, rounds, ...flags } = options({
  dataset: 'lifelike,tidy,hostile',
  records: 20_000,
  tenants: 4,
  rounds: 3,
  warehouses: 'sqlite,postgres',
  phases: 'first,again,changed',
  contenders: 'read,shopsync,write',
  print: false,
})

const words = <T extends string>(flag: 'dataset' | 'phases' | 'contenders', known: readonly T[]): T[] =>
  flags[flag].split(',').map((word) => oneOf(flag, word, known))
const contenders: Own[] = words('contenders', ['read', 'shopsync', 'write'])
const phases = words('phases', ['first', 'again', 'changed'])
/** A parser doesn't know what it has seen. */
const phasesOf: Readonly<Record<Own, readonly Phase[]>> = {
  read: ['first', 'changed'],
  shopsync: phases,
  write: ['first'],
}
/** The newest `updated_at` before anything changes (source/list.ts). */
const newest = '2026-01-01T00:00:00Z'

interface Contest {
  readonly dataset: Dataset
  readonly source: BenchSource
  readonly warehouse: BenchWarehouse
}

function taskOf({ dataset, source, warehouse }: Contest, contender: Task['contender'], phase: Phase): Task {
  const load = loadOf(warehouse.url, source, dataset, tenants)
  return { ...load, contender, phase, updatedAfter: phase === 'changed' ? newest : load.updatedAfter }
}

/** Rows in all tables of the dataset. */
const stored = async ({ dataset, warehouse }: Contest): Promise<number> =>
  total(await rowsIn(warehouse.url, tablesOf(resourcesOf(dataset))))

/** One program on one warehouse: each phase in turn, in its own process, and a check of what it wrote. */
async function run(contest: Contest, contender: Own, round: number): Promise<Sample[]> {
  const { dataset, source, warehouse } = contest
  const all = await source.reset()
  // `write` takes the rows that the previous program left; `read` needs no warehouse.
  if (contender === 'shopsync') {
    await empty(warehouse.url)
    await measured(taskOf(contest, 'prepare', 'first'))
  }
  const samples: Sample[] = []
  for (const phase of phases.filter((one) => phasesOf[contender].includes(one))) {
    const shown = phase === 'changed' ? await source.change(changedEach) : all
    await source.requests()
    const rows = contender === 'write' ? await stored(contest) : shown
    if (rows === 0) throw new Error('write needs the rows of shopsync: name shopsync before it')
    const result = await measured(taskOf(contest, contender, phase))
    // What an earlier version of a record had in addition is gone after `changed`.
    const found = contender === 'read' || phase === 'changed' ? rows : await stored(contest)
    if (found !== rows) throw new Error(`${contender}, ${phase}: ${found} rows are stored of ${rows}`)
    const what = { dataset, warehouse: warehouse.name, contender, phase, round, rows }
    samples.push({ ...what, ...result, requests: await source.requests() })
    const figures = `${(rows / result.seconds / 1000).toFixed(1)}k rows/s, ${Math.round(result.megabytes)} MB`
    process.stderr.write(`${dataset} ${warehouse.name} ${phase} ${contender}: ${figures}\n`)
  }
  return samples
}

const samples = await withWarehouses(flags.warehouses, async (warehouses) => {
  for (const { name, url } of warehouses) if (name === 'postgres') await quieten(url)
  const all: Sample[] = []
  for (const dataset of words('dataset', datasets)) {
    using source = await BenchSource.start(tenants, records / tenants, dataset)
    for (let round = 0; round < rounds; round++)
      for (const warehouse of warehouses)
        for (const name of contenders) all.push(...(await run({ dataset, source, warehouse }, name, round)))
  }
  return all
})
const results: Results = { records, tenants, node: process.version, samples }
process.stdout.write(tables(results))
if (!flags.print) writeResults(results)
