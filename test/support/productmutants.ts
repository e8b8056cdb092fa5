/**
 * Mutants of the compiled program, each one change of one file, and the place where they are played: a copy of the tree,
 * so that nobody else's tests see them. Knows nothing of vitest but how to start it.
 */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { compiledOf } from './compiled.js'
import { scratch } from './scratch.js'
import { root } from './tree.js'

export interface ProductMutant {
  /** What it takes away. */
  readonly without: string
  readonly file: string
  /** A text of the compiled file, which stands there once, and what stands there instead. */
  readonly old: string
  readonly now: string
  /** The test that has to notice it. */
  readonly test: string
  /** A part of the test's name. */
  readonly name: string
  /** The warehouses on whose tests it has to show; none for a test that has no warehouse, or one alone. */
  readonly on: readonly ('sqlite' | 'postgres')[]
}

/** Mutants by the promise that each of them breaks. */
export type MutantTable = Readonly<Record<string, readonly ProductMutant[]>>

/** How often the text stands in the compiled file: once, where the mutant fits the program as it is. */
export const fits = ({ file, old }: ProductMutant): number =>
  readFileSync(compiledOf(file), 'utf8').split(old).length - 1

export interface Played {
  readonly name: string
  readonly failed: boolean
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** The tree of the project, whose compiled files may be changed. */
export class MutantStage {
  readonly #copy = scratch()

  /** `postgresUrl`: that of the tests that play. */
  constructor(private readonly postgresUrl: string) {
    const left = new Set(['node_modules', '.git'].map((name) => join(root, name)))
    cpSync(root, this.#copy, {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !left.has(path),
    })
    symlinkSync(join(root, 'node_modules'), join(this.#copy, 'node_modules'))
  }

  /** Runs tests of the copy: those whose names hold one of the texts. */
  async play(files: readonly string[], names: readonly string[]): Promise<Played[]> {
    const output = join(this.#copy, 'result.json')
    rmSync(output, { force: true })
    const words = ['run', ...files, '-t', names.map(escaped).join('|')]
    const reporter = ['--reporter=json', `--outputFile=${output}`]
    const program = join(this.#copy, 'node_modules/vitest/vitest.mjs')
    const child = spawn('node', [program, ...words, ...reporter], {
      cwd: this.#copy,
      env: { ...process.env, TEST_POSTGRES: this.postgresUrl },
      stdio: 'ignore',
      timeout: 1_800_000,
    })
    await new Promise((resolve) => child.once('exit', resolve))
    // A mutant that hangs has been noticed by no test.
    if (!existsSync(output)) return []
    const report = JSON.parse(readFileSync(output, 'utf8')) as {
      testResults: { assertionResults: { fullName: string; status: string }[] }[]
    }
    return report.testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status }) => ({ name: fullName, failed: status === 'failed' }))
  }

  /** Runs the test of a mutant with it in place. */
  async playMutant({ file, old, now, test, name }: ProductMutant): Promise<Played[]> {
    const compiled = join(this.#copy, relative(root, compiledOf(file)))
    const text = readFileSync(compiled, 'utf8')
    writeFileSync(
      compiled,
      text.replace(old, () => now),
    )
    try {
      return await this.play([test], [name])
    } finally {
      writeFileSync(compiled, text)
    }
  }
}
