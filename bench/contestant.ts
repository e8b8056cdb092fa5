/** One program on one warehouse: each phase in turn, in its own process, and a check of what it wrote. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inFolder, withOpen } from './kit.js'
import { loadOf, tablesOf } from './load.js'
import type { Measured, Own, Phase, Task } from './measure.js'
import { type Dlt, lastLine, loadWithDlt } from './peers/dlt.js'
import type { Sample } from './results.js'
import { type Dataset, resourcesOf } from './source/dataset.js'
import type { BenchSource } from './source/source.js'
import { type BenchWarehouse, empty } from './warehouse.js'

/** One of this many records changes: 5%. */
export const changedEach = 20
/** The newest `updated_at` before anything changes (source/list.ts). */
const newest = '2026-01-01T00:00:00Z'

/**
 * The phases measured for each program. A parser doesn't know what it has seen, and dlt has no run that reads
 * everything again.
 */
const phasesOf: Readonly<Record<string, readonly Phase[]>> = {
  read: ['first', 'changed'],
  write: ['first'],
  dlt: ['first', 'changed'],
}

const run = promisify(execFile)
const program = fileURLToPath(new URL('./measure.js', import.meta.url))

/** `from`: the measuring program; by default, this checkout's. */
export async function measured(task: Task, from = program): Promise<Measured> {
  const { stdout } = await run(process.execPath, [from, JSON.stringify(task)])
  return JSON.parse(lastLine(stdout)) as Measured
}

export interface Benchmark {
  readonly dataset: Dataset
  readonly source: BenchSource
  readonly tenants: number
  /** Repair orders of all tenants. */
  readonly orders: number
  readonly phases: readonly Phase[]
  readonly dlt: Dlt | undefined
}

type Outcome = Omit<Sample, 'dataset' | 'warehouse' | 'contender' | 'phase' | 'round' | 'requests'>

export class Contestant {
  constructor(
    private readonly benchmark: Benchmark,
    private readonly warehouse: BenchWarehouse,
  ) {}

  /** If dlt fails, that ends its phases and counts as a sample; if one of ours fails, that ends everything. */
  async run(name: string, round: number, settings: Readonly<Record<string, string>>): Promise<Sample[]> {
    const { dataset, source } = this.benchmark
    const warehouse = this.warehouse.name
    const words = Object.entries(settings).map(([setting, value]) => `, ${setting}=${value}`)
    const contender = name + words.join('')
    const all = await source.reset()
    await this.#prepare(name)
    const phases = this.benchmark.phases.filter((phase) => phasesOf[name]?.includes(phase) ?? true)
    const samples: Sample[] = []
    await inFolder(async (folder) => {
      for (const phase of phases) {
        const shown = phase === 'changed' ? await source.change(changedEach) : all
        await source.requests()
        const outcome = await (name === 'dlt'
          ? this.#outcomeOfDlt(phase, shown, folder, settings)
          : this.#outcomeOf(name as Own, phase, shown))
        const requests = await source.requests()
        samples.push({ dataset, warehouse, contender, phase, round, requests, ...outcome })
        say(samples.at(-1))
        if (outcome.failure !== undefined) break
      }
    })
    return samples
  }

  /** `write` takes the rows that the previous program left; `read` needs no warehouse. */
  async #prepare(name: string): Promise<void> {
    if (name === 'write' || name === 'read') return
    await empty(this.warehouse.url)
    if (name === 'shopsync') await measured(this.#task('prepare', 'first'))
  }

  async #outcomeOf(name: Own, phase: Phase, shown: number): Promise<Outcome> {
    const left = name === 'write' ? await this.#stored() : shown
    if (left === 0) throw new Error('write needs the rows of shopsync: name shopsync before it')
    const result = await measured(this.#task(name, phase))
    // What an earlier version of a record had in addition is gone after `changed`.
    const stored = name === 'read' || phase === 'changed' ? left : await this.#stored()
    if (stored !== left) throw new Error(`${name}, ${phase}: ${stored} rows are stored of ${left}`)
    return { rows: left, ...result }
  }

  async #outcomeOfDlt(
    phase: Phase,
    shown: number,
    folder: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<Outcome> {
    const { dlt, orders } = this.benchmark
    // It doesn't compute the orders' totals, one row each.
    const rows = shown - (phase === 'changed' ? Math.floor(orders / changedEach) : orders)
    try {
      if (!dlt) throw new Error('dlt is not there')
      const task = { ...this.#task('shopsync', phase), folder }
      const { rows: stored, ...result } = await loadWithDlt(dlt, task, settings)
      if (phase === 'first' && stored !== rows) throw new Error(`${stored} rows are stored of ${rows}`)
      return { rows, ...result }
    } catch (error) {
      return { rows, seconds: 0, cpu: 0, megabytes: 0, failure: reasonOf(error) }
    }
  }

  #task(contender: Task['contender'], phase: Phase): Task {
    const { dataset, source, tenants } = this.benchmark
    const load = loadOf(this.warehouse.url, source, dataset, tenants)
    return { ...load, contender, phase, updatedAfter: phase === 'changed' ? newest : load.updatedAfter }
  }

  /** Rows in all tables of the dataset. */
  #stored(): Promise<number> {
    return withOpen(this.warehouse.url, async (warehouse) => {
      let rows = 0
      for (const { name } of tablesOf(resourcesOf(this.benchmark.dataset))) {
        const query = warehouse.db.selectFrom(name as never).select(({ fn }) => fn.countAll().as('rows'))
        rows += Number((await query.executeTakeFirstOrThrow()).rows)
      }
      return rows
    })
  }
}

/** The last message of a failed process, without its location in the code. */
function reasonOf(error: unknown): string {
  const text =
    error instanceof Error ? ((error as { stderr?: string }).stderr ?? error.message) : String(error)
  const told = text.split('\n').find((one) => /^\S*(Error|error)\b/.test(one))
  return (told ?? lastLine(text)).slice(0, 300)
}

function say(sample: Sample | undefined): void {
  if (!sample) return
  const { dataset, warehouse, phase, contender, rows, seconds, megabytes, failure } = sample
  const figures = `${(rows / seconds / 1000).toFixed(1)}k rows/s, ${Math.round(megabytes)} MB`
  process.stderr.write(`${dataset} ${warehouse} ${phase} ${contender}: ${failure ?? figures}\n`)
}
