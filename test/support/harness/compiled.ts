/**
 * Makes the tests run the compiled program: an import of `src/`, `schema/` or `bench/` is resolved to the compiled file
 * in `dist/`, which Node loads itself. Used by both vitest configurations and by the setup of every run.
 */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { ViteUserConfig } from 'vitest/config'
import { seedOfProperties } from '../world/searched.js'
import { filesIn, root } from './tree.js'

/** The compiled file of a source file, by its path from the root. */
export const compiledOf = (source: string): string => join(root, 'dist', source.replace(/\.ts$/, '.js'))

const isShipped = (source: string): boolean => /^(src|schema|bench)\/.*\.ts$/.test(source)

const resolveToCompiled = (specifier: string, importer: string | undefined): string | null => {
  if (!importer || !specifier.startsWith('.')) return null
  const source = relative(root, resolve(dirname(importer), specifier)).replace(/\.js$/, '.ts')
  return isShipped(source) ? compiledOf(source) : null
}

/** On which warehouses tests of what is above the dialects run: on SQLite, or with WAREHOUSES=both on Postgres too. */
export function chosenWarehouses(): 'sqlite' | 'both' {
  const { WAREHOUSES = 'sqlite' } = process.env
  if (WAREHOUSES === 'sqlite' || WAREHOUSES === 'both') return WAREHOUSES
  throw new Error(`WAREHOUSES is ${JSON.stringify(WAREHOUSES)}; expected both, or nothing`)
}

/** Tells vitest to make tests and processes run the same files, and to report failures by source line. */
export const compiled = {
  plugins: [{ name: 'shipped-program', enforce: 'pre', resolveId: resolveToCompiled }],
  test: {
    globalSetup: ['test/support/harness/global.ts'],
    provide: {
      warehouses: chosenWarehouses(),
      size: 'some' as 'some' | 'all',
      seed: seedOfProperties(process.env),
    },
    pool: 'forks',
    maxWorkers: 2,
    execArgv: ['--enable-source-maps'],
    // Node itself loads copies with a fault (brokenproduct.ts): they have no sources next to them.
    server: { deps: { external: [/\/dist\/(src|schema|bench)\//, /\/shopsync-test-\w+\/dist\//] } },
  },
} satisfies ViteUserConfig

/**
 * For workers that are processes. A test runs most of the program a few times only: without this, V8 spends an eighth of their
 * time on optimizing what is hardly run again. Threads can't have it, and newer versions of Node refuse to start with it.
 */
export const seldomOptimized = process.version.startsWith('v20.') ? ['--interrupt-budget=600000'] : []

/** The same for configurations in which all test files may open warehouses. */
export const shipped = {
  ...compiled,
  test: { ...compiled.test, setupFiles: ['test/support/harness/setup.ts'] },
} satisfies ViteUserConfig

/** Stops a test run if the program isn't built from the current sources. */
export function expectCompiled(): void {
  const bundle = join(root, 'dist/bin/shopsync.js')
  // A build leaves the compiled file of an unchanged source as it is, and writes the bundle last.
  const builtAt = existsSync(bundle) ? statSync(bundle).mtimeMs : 0
  const sources = ['src', 'schema', 'bench', 'test/support'].flatMap((folder) => filesIn(folder, '.ts'))
  const outdated = sources.filter((source) => {
    const compiled = compiledOf(source)
    if (!existsSync(compiled)) return true
    return Math.max(builtAt, statSync(compiled).mtimeMs) < statSync(join(root, source)).mtimeMs
  })
  if (builtAt === 0) outdated.push('src/bundle.mjs')
  if (outdated.length === 0) return
  const [first, ...others] = outdated
  const which = others.length > 0 ? `${first} and ${others.length} more` : first
  throw new Error(
    `The tests run the compiled program: expected dist/ to be newer than every source, and ${which} changed since. Type: npm run build`,
  )
}
