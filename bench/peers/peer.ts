/** The contenders of `npm run bench -- peers`. run.py knows them, starts them and measures them. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { resources } from '../../schema/index.js'
import { program } from '../../test/support/harness/process.js'
import { Installed, rowsIn } from '../kit.js'
import { type Load, type Measured, tablesOf } from '../load.js'

export interface Contender {
  readonly name: string
  /** undefined: shopsync. */
  readonly peer?: string
  /** How many seconds an incremental run goes back. Only what arrives is compared of contenders that have one. */
  readonly lag?: number
  /** What it can write to. */
  readonly warehouses: readonly string[]
  /** Settings with which it goes on where its defaults fail. */
  readonly otherwise?: Readonly<Record<string, string>>
}

/** Rejects with the last line that the program printed. */
export async function python<T>(words: readonly string[], cwd?: string, settings = {}): Promise<T> {
  const options = { cwd, env: { ...process.env, ...settings } }
  const run = promisify(execFile)('python3', [join(process.cwd(), 'bench/peers/run.py'), ...words], options)
  const { stdout, stderr } = await run.catch((error: { stderr?: string; message: string }) => {
    throw new Error((error.stderr || error.message).trim().split('\n').at(-1))
  })
  process.stderr.write(stderr)
  return JSON.parse(stdout) as T
}

/** A contender in a folder that keeps its state between runs. */
export class Entry {
  readonly #task: string

  constructor(
    readonly contender: Contender,
    readonly folder: string,
    readonly load: Load,
    readonly settings: Readonly<Record<string, string>> = {},
  ) {
    const { url, source, resources: names } = load
    const fields = Object.fromEntries(names.map((name) => [name, resources[name]?.fields]))
    this.#task = join(folder, 'task.json')
    writeFileSync(this.#task, JSON.stringify({ ...load, folder, lag: contender.lag ?? null, fields }))
    new Installed(folder).configure(url, { url: source }, { sync: { resources: names } })
  }

  /** One run, as its user would start it. `command`: of shopsync. */
  run(command = 'sync'): Promise<Measured> {
    const { peer } = this.contender
    const words = peer ? [peer, this.#task] : [process.execPath, program, command, '--quiet']
    return python(['load', ...words], this.folder, this.settings)
  }

  /** How many rows each of its tables has. */
  rows(): Promise<Record<string, number>> {
    const { peer } = this.contender
    if (!peer) return rowsIn(this.load.url, tablesOf(this.load.resources))
    return python(['count', peer, this.#task], this.folder, this.settings)
  }
}
