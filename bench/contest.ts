/** One contender on one warehouse: every phase in turn, each in a process of its own, and a check of what it wrote. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Digest, difference, digestOf, rowsIn } from './digest.js'
import { columnsOf } from './floor/columns.js'
import type { Measured, Own, Phase, Task } from './measure.js'
import { type Dlt, lastLine, loadWithDlt } from './peers/dlt.js'
import type { Sample } from './results.js'
import { type Climate, resourcesOf } from './source/climate.js'
import type { BenchSource } from './source/source.js'
import { type BenchWarehouse, empty, schema } from './warehouse.js'

/** One record of so many changes: 5 %. */
const every = 20
const epoch = '1970-01-01T00:00:00Z'
/** The newest `updated_at` before anything changes (source/list.ts). */
const newest = '2026-01-01T00:00:00Z'
/** They must write the same rows; the others are compared by the number of rows. */
const equals: readonly string[] = ['floor', 'shopsync', 'raw'] satisfies Own[]

const run = promisify(execFile)
const program = fileURLToPath(new URL('./measure.js', import.meta.url))

/** `from`: the measuring program, this checkout's where nothing else is said. */
export async function measured(task: Task, from = program): Promise<Measured> {
  const { stdout } = await run(process.execPath, [from, JSON.stringify(task)])
  return JSON.parse(lastLine(stdout)) as Measured
}

export interface Contest {
  readonly climate: Climate
  readonly source: BenchSource
  readonly tenants: number
  /** Repair orders of all tenants. */
  readonly orders: number
  readonly phases: readonly Phase[]
  readonly dlt: Dlt | undefined
}

type Outcome = Omit<Sample, 'climate' | 'warehouse' | 'contender' | 'phase' | 'round' | 'requests'>

/** Digests of one round, by warehouse and phase: the first contender's is what the others are held to. */
export type Expected = Map<string, Digest>

export class Contestant {
  constructor(
    private readonly contest: Contest,
    private readonly warehouse: BenchWarehouse,
    private readonly expected: Expected,
  ) {}

  /** A failure of a contender that is not ours ends its phases, and is a sample. */
  async run(name: string, round: number, settings: Readonly<Record<string, string>>): Promise<Sample[]> {
    const { climate, source, phases } = this.contest
    const folder = mkdtempSync(join(tmpdir(), 'shopsync-peer-'))
    const warehouse = this.warehouse.name
    const words = Object.entries(settings).map(([setting, value]) => `, ${setting}=${value}`)
    const contender = name + words.join('')
    const all = await source.reset()
    await empty(this.warehouse.url)
    if (name !== 'dlt') await measured(this.#task('prepare', 'first'))
    const samples: Sample[] = []
    try {
      for (const phase of phases) {
        // dlt has no run that reads everything again and keeps what is there.
        if (name === 'dlt' && phase === 'again') continue
        const shown = phase === 'changed' ? await source.change(every) : all
        const rows = shown - this.#unwritten(name, phase)
        await source.requests()
        const outcome = await this.#outcome(name, phase, rows, folder, settings)
        const requests = await source.requests()
        samples.push({ climate, warehouse, contender, phase, round, requests, ...outcome })
        say(samples.at(-1))
        if (outcome.failure !== undefined) break
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    return samples
  }

  async #outcome(
    name: string,
    phase: Phase,
    rows: number,
    folder: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<Outcome> {
    try {
      if (name === 'dlt' && this.contest.dlt) {
        const task = { ...this.#task('floor', phase), folder }
        const { rows: stored, ...result } = await loadWithDlt(this.contest.dlt, task, settings)
        if (phase === 'first' && stored !== rows) throw new Error(`${stored} rows are stored of ${rows}`)
        return { rows, ...result }
      }
      const result = await measured(this.#task(name as Own, phase))
      await this.#check(name, phase, rows)
      return { rows, ...result }
    } catch (error) {
      const failure = reasonOf(error)
      if (equals.includes(name)) throw new Error(`${name}, ${phase}: ${failure}`, { cause: error })
      return { rows, seconds: 0, cpu: 0, megabytes: 0, failure }
    }
  }

  /** Others than these do not compute what an order comes to, a row each. */
  #unwritten(name: string, phase: Phase): number {
    if (equals.includes(name)) return 0
    return phase === 'changed' ? Math.floor(this.contest.orders / every) : this.contest.orders
  }

  #task(contender: Task['contender'], phase: Phase): Task {
    const { climate, source, tenants } = this.contest
    const updatedAfter = phase === 'changed' ? newest : epoch
    const { url } = this.warehouse
    const resources = resourcesOf(climate)
    return { contender, phase, url, schema, source: source.url, tenants, resources, updatedAfter }
  }

  /**
   * After a full load the tables hold all rows, and those of floor, shopsync and raw the same. After changes only shopsync
   * has removed the rows of former versions, so only the records' own tables can be compared.
   */
  async #check(name: string, phase: Phase, rows: number): Promise<void> {
    const { url } = this.warehouse
    const columns = columnsOf(resourcesOf(this.contest.climate))
    const roots = columns.filter(({ name: table }) =>
      resourcesOf(this.contest.climate).some((one) => one === table),
    )
    const found = await digestOf(url, schema, phase === 'changed' ? roots : columns)
    if (phase !== 'changed' && rowsIn(found) !== rows)
      throw new Error(`${rowsIn(found)} rows are stored of ${rows}`)
    if (!equals.includes(name)) return
    const place = `${url} ${phase}`
    const expected = this.expected.get(place)
    const wrong = expected && difference(found, expected)
    if (wrong) throw new Error(`not the rows of the contender before it: ${wrong}`)
    this.expected.set(place, found)
  }
}

/** What a failed process said last, without the address of the code. */
function reasonOf(error: unknown): string {
  const text =
    error instanceof Error ? ((error as { stderr?: string }).stderr ?? error.message) : String(error)
  const told = text.split('\n').find((one) => /^\S*(Error|error)\b/.test(one))
  return (told ?? lastLine(text)).slice(0, 300)
}

function say(sample: Sample | undefined): void {
  if (!sample) return
  const { climate, warehouse, phase, contender, rows, seconds, megabytes, failure } = sample
  const figures = `${(rows / seconds / 1000).toFixed(1)}k rows/s, ${Math.round(megabytes)} MB`
  process.stderr.write(`${climate} ${warehouse} ${phase} ${contender}: ${failure ?? figures}\n`)
}
