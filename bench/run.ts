/**
 * npm run bench -- [--dataset tidy,lifelike,hostile] [--records 20000] [--tenants 4] [--rounds 3]
 *   [--warehouses sqlite,postgres] [--phases first,again,changed] [--contenders read,shopsync,write,dlt] [--print]
 *
 * The product next to its limits: `read` fetches and parses every page and does nothing else; `write` stores the same
 * rows, already prepared, in the fastest way known. On two cores, no program can beat the longer of the two. Each
 * measured run has its own process, against a source in another one, round after round. `dlt` takes ten times as long,
 * so it only runs in the first round; it is left out if Python doesn't have it and it can't be installed. The results
 * go into bench/results.json and their tables into docs/performance.md; with `--print`, only to the terminal.
 */
import { parseArgs } from 'node:util'
import { type Benchmark, Contestant } from './benchmark.js'
import type { Phase } from './measure.js'
import { type Dlt, findDlt } from './peers/dlt.js'
import { type Results, type Sample, tables, writeResults } from './results.js'
import { type Dataset, datasets } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { type BenchWarehouse, quieten, type WarehouseName, withWarehouses } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    dataset: { type: 'string', default: 'lifelike,tidy,hostile' },
    records: { type: 'string', default: '20000' },
    tenants: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
    phases: { type: 'string', default: 'first,again,changed' },
    contenders: { type: 'string', default: 'read,shopsync,write,dlt' },
    print: { type: 'boolean', default: false },
  },
})

const records = Number(options.records)
const tenants = Number(options.tenants)
const known = {
  dataset: datasets,
  phases: ['first', 'again', 'changed'],
  contenders: ['read', 'shopsync', 'write', 'dlt'],
} as const

function words<K extends keyof typeof known>(option: K): (typeof known)[K][number][] {
  return options[option].split(',').map((word) => {
    const found = known[option].find((one) => one === word)
    if (found === undefined) throw new Error(`--${option} ${word}: expected ${known[option].join(', ')}`)
    return found
  })
}

/** Settings that fix a dlt load that fails with the defaults, by warehouse. */
const mends: Partial<Record<WarehouseName, Readonly<Record<string, string>>>> = {
  // Its parallel loaders lock each other out.
  sqlite: { LOAD__WORKERS: '1' },
}

/** Once a load has failed with dlt's defaults, the next rounds start with the settings that fix it. */
async function withDlt(
  contestant: Contestant,
  round: number,
  mended: Set<string>,
  warehouse: WarehouseName,
): Promise<Sample[]> {
  const mend = mends[warehouse] ?? {}
  if (mended.has(warehouse)) return contestant.run('dlt', round, mend)
  const samples = await contestant.run('dlt', round, {})
  if (mends[warehouse] === undefined || samples.every(({ failure }) => failure === undefined)) return samples
  mended.add(warehouse)
  return [...samples, ...(await contestant.run('dlt', round, mend))]
}

async function contend(
  dataset: Dataset,
  warehouses: readonly BenchWarehouse[],
  dlt: Dlt | undefined,
): Promise<Sample[]> {
  const source = await BenchSource.start(tenants, records / tenants, dataset)
  const benchmark: Benchmark = {
    dataset,
    source,
    tenants,
    orders: records,
    phases: words('phases') as Phase[],
    dlt,
  }
  const samples: Sample[] = []
  const mended = new Set<string>()
  try {
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const warehouse of warehouses) {
        const contestant = new Contestant(benchmark, warehouse)
        for (const name of words('contenders'))
          if (name !== 'dlt') samples.push(...(await contestant.run(name, round, {})))
          else if (dlt && round === 0)
            samples.push(...(await withDlt(contestant, round, mended, warehouse.name)))
      }
    }
  } finally {
    source.stop()
  }
  return samples
}

async function main(): Promise<void> {
  const dlt = words('contenders').includes('dlt') ? await findDlt() : undefined
  const samples = await withWarehouses(options.warehouses.split(','), async (warehouses) => {
    for (const { name, url } of warehouses) if (name === 'postgres') await quieten(url)
    const all: Sample[] = []
    for (const dataset of words('dataset')) all.push(...(await contend(dataset, warehouses, dlt)))
    return all
  })
  const peers = dlt ? [dlt.about] : []
  const results: Results = { records, tenants, node: process.version, peers, samples }
  process.stdout.write(tables(results))
  if (!options.print) writeResults(results)
}

await main()
