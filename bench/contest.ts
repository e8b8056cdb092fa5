/**
 * npm run bench -- [--dataset tidy,lifelike,hostile] [--records 20000] [--tenants 4] [--rounds 3]
 *   [--warehouses sqlite,postgres] [--phases first,again,changed] [--contenders read,shopsync,write,dlt] [--print]
 *
 * The product next to its limits: `read` fetches and parses every page and does nothing else; `write` stores the same
 * rows, already prepared, in the fastest way known. On two cores, no program can beat the longer of the two. Each
 * measured run has its own process, against a source in another one, round after round. `dlt` takes ten times as long,
 * so it only runs in the first round; it is left out if Python doesn't have it and it can't be installed. The tables go
 * into docs/dev/performance.md; with `--print`, only to the terminal.
 */
import { inFolder, oneOf, options, withOpen } from './kit.js'
import { changedEach, loadOf, type Measured, measured, type Phase, type Task, tablesOf } from './load.js'
import { type Dlt, findDlt, loadWithDlt } from './peers/dlt.js'
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
  contenders: 'read,shopsync,write,dlt',
  print: false,
})

const words = <T extends string>(flag: 'dataset' | 'phases' | 'contenders', known: readonly T[]): T[] =>
  flags[flag].split(',').map((word) => oneOf(flag, word, known))
const contenders = words('contenders', ['read', 'shopsync', 'write', 'dlt'])
type Contender = (typeof contenders)[number]

/** A parser doesn't know what it has seen, and dlt has no run that reads everything again. */
const phasesOf: Readonly<Partial<Record<Contender, readonly Phase[]>>> = {
  read: ['first', 'changed'],
  write: ['first'],
  dlt: ['first', 'changed'],
}
const phases = words('phases', ['first', 'again', 'changed'])
/** The newest `updated_at` before anything changes (source/list.ts). */
const newest = '2026-01-01T00:00:00Z'

/** What dlt needs besides its defaults: its parallel loaders lock each other out of a SQLite file. */
const settingsOf = ({ name }: BenchWarehouse): Record<string, string> =>
  name === 'sqlite' ? { LOAD__WORKERS: '1' } : {}

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
const stored = ({ dataset, warehouse }: Contest): Promise<number> =>
  withOpen(warehouse.url, async ({ db }) => {
    let rows = 0
    for (const { name } of tablesOf(resourcesOf(dataset))) {
      const query = db.selectFrom(name as never).select(({ fn }) => fn.countAll().as('rows'))
      rows += Number((await query.executeTakeFirstOrThrow()).rows)
    }
    return rows
  })

type Outcome = Measured & { readonly rows: number }

async function outcomeOf(
  contest: Contest,
  name: 'read' | 'shopsync' | 'write',
  phase: Phase,
  shown: number,
): Promise<Outcome> {
  const rows = name === 'write' ? await stored(contest) : shown
  if (rows === 0) throw new Error('write needs the rows of shopsync: name shopsync before it')
  const result = await measured(taskOf(contest, name, phase))
  // What an earlier version of a record had in addition is gone after `changed`.
  const found = name === 'read' || phase === 'changed' ? rows : await stored(contest)
  if (found !== rows) throw new Error(`${name}, ${phase}: ${found} rows are stored of ${rows}`)
  return { rows, ...result }
}

/** A failure of dlt ends its phases; one of ours ends everything. */
async function outcomeOfDlt(
  contest: Contest,
  dlt: Dlt,
  folder: string,
  phase: Phase,
  shown: number,
): Promise<Outcome> {
  // It doesn't compute the orders' totals, one row each.
  const rows = shown - (phase === 'changed' ? Math.floor(records / changedEach) : records)
  const task = { ...taskOf(contest, 'shopsync', phase), folder }
  const { rows: found, ...result } = await loadWithDlt(dlt, task, settingsOf(contest.warehouse))
  if (phase === 'first' && found !== rows) throw new Error(`${found} rows are stored of ${rows}`)
  return { rows, ...result }
}

/** One program on one warehouse: each phase in turn, in its own process, and a check of what it wrote. */
async function run(contest: Contest, name: Contender, round: number): Promise<Sample[]> {
  const { dataset, source, warehouse } = contest
  const settings = name === 'dlt' ? Object.entries(settingsOf(warehouse)) : []
  const contender = [name, ...settings.map(([setting, value]) => `${setting}=${value}`)].join(', ')
  const all = await source.reset()
  // `write` takes the rows that the previous program left; `read` needs no warehouse.
  if (name === 'shopsync' || name === 'dlt') await empty(warehouse.url)
  if (name === 'shopsync') await measured(taskOf(contest, 'prepare', 'first'))
  const samples: Sample[] = []
  await inFolder(async (folder) => {
    for (const phase of phases.filter((one) => phasesOf[name]?.includes(one) ?? true)) {
      const shown = phase === 'changed' ? await source.change(changedEach) : all
      await source.requests()
      const what = { dataset, warehouse: warehouse.name, contender, phase, round }
      const outcome =
        name === 'dlt'
          ? dlt && outcomeOfDlt(contest, dlt, folder, phase, shown)
          : outcomeOf(contest, name, phase, shown)
      const reached = await outcome?.catch((error: Error) => {
        if (name !== 'dlt') throw error
        process.stderr.write(`${dataset} ${warehouse.name} ${phase} dlt failed: ${error.message}\n`)
      })
      if (!reached) break
      samples.push({ ...what, ...reached, requests: await source.requests() })
      const figures = `${(reached.rows / reached.seconds / 1000).toFixed(1)}k rows/s, ${Math.round(reached.megabytes)} MB`
      process.stderr.write(`${dataset} ${warehouse.name} ${phase} ${contender}: ${figures}\n`)
    }
  })
  return samples
}

const dlt = contenders.includes('dlt') ? await findDlt() : undefined
const samples = await withWarehouses(flags.warehouses, async (warehouses) => {
  for (const { name, url } of warehouses) if (name === 'postgres') await quieten(url)
  const all: Sample[] = []
  for (const dataset of words('dataset', datasets)) {
    using source = await BenchSource.start(tenants, records / tenants, dataset)
    for (let round = 0; round < rounds; round++)
      for (const warehouse of warehouses)
        for (const name of contenders)
          if (name !== 'dlt' || (dlt && round === 0))
            all.push(...(await run({ dataset, source, warehouse }, name, round)))
  }
  return all
})
const results: Results = { records, tenants, node: process.version, peers: dlt ? [dlt.about] : [], samples }
process.stdout.write(tables(results))
if (!flags.print) writeResults(results)
