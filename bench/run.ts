/**
 * npm run bench -- [--climate lifelike] [--records 20000] [--tenants 4] [--rounds 5] [--warehouses sqlite,postgres]
 *   [--phases first,again,changed] [--contenders floor,shopsync,raw,plain] [--write]
 *
 * The contenders in turn, round after round, each measured run in a process of its own against a source in another.
 * Climates are tidy, lifelike and hostile (source/climate.ts); several are separated by commas. `dlt` is one contender
 * more; it is installed first. `--write` puts the results into bench/results.json and the tables into
 * docs/performance.md.
 */
import { parseArgs } from 'node:util'
import { type Contest, Contestant, type Expected } from './contest.js'
import type { Phase } from './measure.js'
import { type Dlt, findDlt } from './peers/dlt.js'
import { type Results, type Sample, tables, writeResults } from './results.js'
import { type Climate, climates } from './source/climate.js'
import { BenchSource } from './source/source.js'
import { type BenchWarehouse, type WarehouseName, withWarehouses } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    climate: { type: 'string', default: 'lifelike' },
    records: { type: 'string', default: '20000' },
    tenants: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
    phases: { type: 'string', default: 'first,again,changed' },
    contenders: { type: 'string', default: 'floor,shopsync,raw,plain' },
    write: { type: 'boolean', default: false },
  },
})

const records = Number(options.records)
const tenants = Number(options.tenants)
const known = {
  climate: climates,
  phases: ['first', 'again', 'changed'],
  contenders: ['floor', 'shopsync', 'raw', 'plain', 'dlt'],
} as const

function words<K extends keyof typeof known>(option: K): (typeof known)[K][number][] {
  return options[option].split(',').map((word) => {
    const found = known[option].find((one) => one === word)
    if (found === undefined) throw new Error(`--${option} ${word}: expected ${known[option].join(', ')}`)
    return found
  })
}

/** Settings that mend a load of dlt which fails with the defaults, by warehouse. */
const mends: Partial<Record<WarehouseName, Readonly<Record<string, string>>>> = {
  // Its parallel loaders lock each other out.
  sqlite: { LOAD__WORKERS: '1' },
}

/** Once a load has failed with dlt's defaults, the next rounds begin with the settings that mend it. */
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
  climate: Climate,
  warehouses: readonly BenchWarehouse[],
  dlt: Dlt | undefined,
): Promise<Sample[]> {
  const source = await BenchSource.start(tenants, records / tenants, climate)
  const contest: Contest = {
    climate,
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
      const expected: Expected = new Map()
      for (const warehouse of warehouses) {
        const contestant = new Contestant(contest, warehouse, expected)
        for (const name of words('contenders'))
          if (name !== 'dlt') samples.push(...(await contestant.run(name, round, {})))
          else if (dlt) samples.push(...(await withDlt(contestant, round, mended, warehouse.name)))
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
    const all: Sample[] = []
    for (const climate of words('climate')) all.push(...(await contend(climate, warehouses, dlt)))
    return all
  })
  const peers = dlt ? [dlt.about] : []
  const results: Results = { records, tenants, node: process.version, peers, samples }
  process.stdout.write(tables(results))
  if (options.write) writeResults(results)
}

await main()
