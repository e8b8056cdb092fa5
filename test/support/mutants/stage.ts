/**
 * A copy of the project in its own folder, with a program that may be broken. Tests run there as they do here, and
 * their imports, threads and processes all use that program. Doesn't use vitest except to start it.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../harness/tree.js'
import { brokenProduct, linked, type PlantedBreakage, product } from './brokenproduct.js'

export interface Played {
  readonly name: string
  readonly failed: boolean
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Behind a symbolic link, Node 20 takes a CommonJS module for an empty one if a test's own script has loaded it before
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

  /** `postgresUrl`: for the tests that are played. */
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
    // The bundle contains the sound program.
    mkdirSync(join(dist, 'bin'))
    writeFileSync(join(dist, 'bin/shopsync.js'), "import '../../src/entry.js'\n")
  }

  /** Runs the tests in these files whose names contain one of the texts. */
  async play(files: readonly string[], names: readonly string[]): Promise<Played[]> {
    const output = join(this.#folder, 'result.json')
    const words = ['run', ...files, '-t', names.map(escaped).join('|')]
    // A test that hangs has failed, and doesn't have to hang for long.
    const how = ['--testTimeout=60000', '--hookTimeout=60000', '--reporter=json', `--outputFile=${output}`]
    const child = spawn('node', [join(this.#folder, 'node_modules/vitest/vitest.mjs'), ...words, ...how], {
      cwd: this.#folder,
      env: {
        ...process.env,
        TEST_POSTGRES: this.postgresUrl,
        WAREHOUSES: 'both',
      },
      stdio: 'ignore',
      timeout: 1_800_000,
    })
    await new Promise((resolve) => child.once('exit', resolve))
    // If a program doesn't even start, no test has noticed the fault.
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
