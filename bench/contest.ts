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
import { type Benchmark, Contestant } from './contestant.js'
import { oneOf, options } from './kit.js'
import { type Dlt, findDlt } from './peers/dlt.js'
import { type Results, type Sample, tables, writeResults } from './results.js'
import { type Dataset, datasets } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { type BenchWarehouse, quieten, type WarehouseName, withWarehouses } from './warehouse.js'

const { records, tenants, rounds, ...flags } = options({
  dataset: 'lifelike,tidy,hostile',
  records: 20_000,
  tenants: 4,
  rounds: 3,
  warehouses: 'sqlite,postgres',
  phases: 'first,again,changed',
  contenders: 'read,shopsync,write,dlt',
  print: false,
})

const words = <T extends string>(flag: 'dataset' | 'phases' | 'contenders', known: readonly T[]): T[] =>
  flags[flag].split(',').map((word) => oneOf(flag, word, known))
const phases = words('phases', ['first', 'again', 'changed'])
const contenders = words('contenders', ['read', 'shopsync', 'write', 'dlt'])

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
  using source = await BenchSource.start(tenants, records / tenants, dataset)
  const benchmark: Benchmark = { dataset, source, tenants, orders: records, phases, dlt }
  const samples: Sample[] = []
  const mended = new Set<string>()
  for (let round = 0; round < rounds; round++)
    for (const warehouse of warehouses) {
      const contestant = new Contestant(benchmark, warehouse)
      for (const name of contenders)
        if (name !== 'dlt') samples.push(...(await contestant.run(name, round, {})))
        else if (dlt && round === 0)
          samples.push(...(await withDlt(contestant, round, mended, warehouse.name)))
    }
  return samples
}

const dlt = contenders.includes('dlt') ? await findDlt() : undefined
const samples = await withWarehouses(flags.warehouses, async (warehouses) => {
  for (const { name, url } of warehouses) if (name === 'postgres') await quieten(url)
  const all: Sample[] = []
  for (const dataset of words('dataset', datasets)) all.push(...(await contend(dataset, warehouses, dlt)))
  return all
})
const peers = dlt ? [dlt.about] : []
const results: Results = { records, tenants, node: process.version, peers, samples }
process.stdout.write(tables(results))
if (!flags.print) writeResults(results)
