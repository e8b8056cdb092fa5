/**
 * npm run bench -- [--records 20000] [--tenants 4] [--rounds 5] [--warehouses sqlite,postgres] [--phases first,again,changed]
 *   [--contenders floor,shopsync,plain] [--write]
 *
 * Floor, shopsync and the plain script in turn, round after round, each measured run in a process of its own against a
 * source in another. `--write` puts the results into bench/results.json and the tables into docs/performance.md.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { sql } from 'kysely'
import { resources } from '../schema/index.js'
import { model } from '../src/model/registry.js'
import { openWarehouse } from '../src/warehouse/open.js'
import { startPostgres } from '../test/support/postgres.js'
import type { Contender, Measured, Phase, Task } from './measure.js'
import { type Results, type Sample, tables, writeResults } from './results.js'
import { BenchSource } from './source/source.js'

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '20000' },
    tenants: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
    phases: { type: 'string', default: 'first,again,changed' },
    contenders: { type: 'string', default: 'floor,shopsync,plain' },
    write: { type: 'boolean', default: false },
  },
})

const records = Number(options.records)
const tenants = Number(options.tenants)
const phases = options.phases.split(',') as Phase[]
/** Every so-manieth record changes: 5 %. */
const every = 20
const schema = 'bench'
const epoch = '1970-01-01T00:00:00Z'
/** The newest `updated_at` before anything changes (source/list.ts). */
const newest = '2026-01-01T00:00:00Z'

const run = promisify(execFile)

async function measured(task: Task): Promise<Measured> {
  const program = fileURLToPath(new URL('./measure.js', import.meta.url))
  const { stdout } = await run(process.execPath, [program, JSON.stringify(task)])
  return JSON.parse(stdout) as Measured
}

/** Empty tables, made by the product's own migration, as every contender finds them. */
async function prepare(url: string): Promise<void> {
  if (url.startsWith('sqlite:'))
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(`${url.slice('sqlite:'.length)}${suffix}`, { force: true })
  const warehouse = await openWarehouse({ url, schema, model: model(resources) })
  if (!url.startsWith('sqlite:'))
    await sql`drop schema if exists ${sql.id(schema)} cascade`.execute(warehouse.db)
  await warehouse.migrate()
  await warehouse.close()
}

async function contend(source: BenchSource, url: string, contender: Contender): Promise<Sample[]> {
  const warehouse = url.startsWith('sqlite:') ? 'sqlite' : 'postgres'
  await source.reset()
  await prepare(url)
  const samples: Sample[] = []
  for (const phase of phases) {
    if (phase === 'changed') await source.change(every)
    await source.requests()
    const updatedAfter = phase === 'changed' ? newest : epoch
    const task = { contender, phase, url, schema, source: source.url, tenants, updatedAfter }
    const result = await measured(task)
    const requests = await source.requests()
    samples.push({ warehouse, contender, phase, requests, ...result })
    const rate = Math.round(result.rows / result.seconds / 1000)
    process.stderr.write(
      `${warehouse} ${phase} ${contender}: ${rate}k rows/s, ${Math.round(result.megabytes)} MB\n`,
    )
  }
  return samples
}

async function bench(urls: readonly string[]): Promise<Results> {
  const source = await BenchSource.start(tenants, records / tenants)
  const samples: Sample[] = []
  for (let round = 0; round < Number(options.rounds); round++)
    for (const url of urls)
      for (const contender of options.contenders.split(',') as Contender[])
        samples.push(...(await contend(source, url, contender)))
  source.stop()
  return { records, tenants, node: process.version, samples }
}

async function main(): Promise<void> {
  const wanted = options.warehouses.split(',')
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-bench-'))
  const postgres = wanted.includes('postgres') ? await startPostgres() : undefined
  try {
    const urls = wanted.map((name) =>
      name === 'postgres' ? (postgres?.url ?? '') : `sqlite:${join(folder, 'bench.db')}`,
    )
    const results = await bench(urls)
    process.stdout.write(tables(results))
    if (options.write) writeResults(results)
  } finally {
    await postgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

await main()
