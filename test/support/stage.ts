/**
 * A copy of the project in a folder of its own whose program may be broken: tests run there as they do here, and what they
 * import, their threads and their processes are all of that program. Knows nothing of vitest but how to start it.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brokenProduct, linked, type PlantedBreakage, product } from './brokenproduct.js'
import { root } from './tree.js'

export interface Played {
  readonly name: string
  readonly failed: boolean
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Behind a symbolic link Node 20 takes a CommonJS module for an empty one that a script of the test's own has loaded before
 * the program does.
 */
const loadedBefore = '@opentelemetry'

function linkPackages(folder: string): void {
  const packages = join(root, 'node_modules')
  rmSync(folder)
  mkdirSync(folder)
  for (const name of readdirSync(packages))
    if (name === loadedBefore) linked(join(packages, name), join(folder, name))
    else symlinkSync(join(packages, name), join(folder, name))
}

export class Stage {
  readonly #folder: string

  /** `postgresUrl`: that of the tests that play; empty where they play on SQLite alone. */
  constructor(
    private readonly postgresUrl: string,
    breakage?: PlantedBreakage,
  ) {
    const dist = breakage ? brokenProduct(breakage) : product()
    this.#folder = dirname(dist)
    const made = new Set(['.git', ...readdirSync(this.#folder)])
    for (const name of readdirSync(root))
      if (!made.has(name)) linked(join(root, name), join(this.#folder, name))
    linkPackages(join(this.#folder, 'node_modules'))
    // The bundle holds the sound program.
    mkdirSync(join(dist, 'bin'))
    writeFileSync(join(dist, 'bin/shopsync.js'), "import '../src/entry.js'\n")
  }

  /** Runs the tests of these files whose names hold one of the texts. */
  async play(files: readonly string[], names: readonly string[]): Promise<Played[]> {
    const output = join(this.#folder, 'result.json')
    const words = ['run', ...files, '-t', names.map(escaped).join('|')]
    // One that hangs has failed, and need not hang for long.
    const how = ['--testTimeout=60000', '--hookTimeout=60000', '--reporter=json', `--outputFile=${output}`]
    const child = spawn('node', [join(this.#folder, 'node_modules/vitest/vitest.mjs'), ...words, ...how], {
      cwd: this.#folder,
      env: {
        ...process.env,
        TEST_POSTGRES: this.postgresUrl,
        WAREHOUSES: this.postgresUrl === '' ? 'sqlite' : 'both',
      },
      stdio: 'ignore',
      timeout: 1_800_000,
    })
    await new Promise((resolve) => child.once('exit', resolve))
    // A program that does not even begin has been noticed by no test.
    if (!existsSync(output)) return []
    const report = JSON.parse(readFileSync(output, 'utf8')) as {
      testResults: { assertionResults: { fullName: string; status: string }[] }[]
    }
    return report.testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status }) => ({ name: fullName, failed: status === 'failed' }))
  }
}
