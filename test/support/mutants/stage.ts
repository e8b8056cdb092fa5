/**
 * A copy of the project in its own folder, with a program in which mutants are planted. Tests run there as they do here,
 * and their imports, threads and processes all use that program. Doesn't use vitest except to start it.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../harness/tree.js'
import { planted } from './all.js'
import { brokenProduct, linked } from './brokenproduct.js'
import { mutantsVariable, type Play, type Played } from './play.js'
import { promises } from './promises.js'

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

/** Returns the folder of the copy, in which the mutants with these numbers are planted. */
function stageOf(mutants: readonly number[]): string {
  const dist = brokenProduct(...mutants.map(planted))
  const folder = dirname(dist)
  const made = new Set(['.git', ...readdirSync(folder)])
  for (const name of readdirSync(root)) if (!made.has(name)) linked(join(root, name), join(folder, name))
  linkPackages(join(folder, 'node_modules'))
  // The bundle contains the sound program.
  mkdirSync(join(dist, 'bin'))
  writeFileSync(join(dist, 'bin/shopsync.js'), "import '../../src/entry.js'\n")
  return folder
}

interface Where {
  /** Of the run that these tests are part of. */
  readonly postgresUrl: string
  /** `sqlite`: on Postgres only those that fail on nothing else. */
  readonly warehouses: 'sqlite' | 'both'
}

/** Plays the tests that have to notice the mutants with these numbers, on a stage of their own. */
export async function played(
  mutants: readonly number[],
  { postgresUrl, warehouses }: Where,
): Promise<Played[]> {
  const folder = stageOf(mutants)
  const output = join(folder, 'result.json')
  // Removed with the stage, whatever becomes of the processes that use it.
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  const files = new Set(mutants.map((at) => promises[at]!.test))
  const how = ['--config', 'test/mutants.config.ts', '--reporter=json', `--outputFile=${output}`]
  const child = spawn('node', [join(folder, 'node_modules/vitest/vitest.mjs'), 'run', ...files, ...how], {
    cwd: folder,
    env: {
      ...process.env,
      TMPDIR: temporary,
      TEST_POSTGRES: postgresUrl,
      WAREHOUSES: warehouses,
      [mutantsVariable]: mutants.join(),
    },
    stdio: 'ignore',
    timeout: 1_800_000,
  })
  await new Promise((resolve) => child.once('exit', resolve))
  // If a program doesn't even start, no test has noticed the fault.
  if (!existsSync(output)) return []
  const report = JSON.parse(readFileSync(output, 'utf8')) as {
    testResults: { assertionResults: { fullName: string; meta: { plays?: Play[] } }[] }[]
  }
  return report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.flatMap(({ fullName, meta: { plays } }) => (plays ? { name: fullName, plays } : [])),
  )
}
