/**
 * Makes the tests run the program as it is compiled: an import of `src/`, `schema/` or `bench/` is resolved to the compiled
 * file in `dist/`, which Node loads itself. Used by both configurations of vitest and by the setup of every run.
 */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { ViteUserConfig } from 'vitest/config'
import { filesIn, root } from './tree.js'

/** The compiled file of a source file, by its path from the root. */
export const compiledOf = (source: string): string => join(root, 'dist', source.replace(/\.ts$/, '.js'))

const isShipped = (source: string): boolean => /^(src|schema|bench)\/.*\.ts$/.test(source)

const resolveToCompiled = (specifier: string, importer: string | undefined): string | null => {
  if (!importer || !specifier.startsWith('.')) return null
  const source = relative(root, resolve(dirname(importer), specifier)).replace(/\.js$/, '.ts')
  return isShipped(source) ? compiledOf(source) : null
}

/** The warehouses that tests of what lies above the dialects run on. */
export type Chosen = 'sqlite' | 'both'

/** WAREHOUSES, or what a configuration takes where nobody says anything. */
export function chosenWarehouses(usual: Chosen): Chosen {
  const { WAREHOUSES = usual } = process.env
  if (WAREHOUSES === 'sqlite' || WAREHOUSES === 'both') return WAREHOUSES
  throw new Error(`WAREHOUSES is ${JSON.stringify(WAREHOUSES)}; expected sqlite or both`)
}

/** What vitest is told so that tests and processes run the same files, and failures name the lines of the sources. */
export const compiled = {
  plugins: [{ name: 'shipped-program', enforce: 'pre', resolveId: resolveToCompiled }],
  test: {
    globalSetup: ['test/support/global.ts'],
    provide: { warehouses: chosenWarehouses('sqlite') },
    pool: 'forks',
    maxWorkers: 2,
    execArgv: ['--enable-source-maps'],
    // Node loads copies with a fault in them (brokenproduct.ts) whole by itself: they have no sources beside them.
    server: { deps: { external: [/\/dist\/(src|schema|bench)\//, /\/shopsync-test-\w+\/dist\//] } },
  },
} satisfies ViteUserConfig

/** The same, for configurations whose files of tests may all open warehouses. */
export const shipped = {
  ...compiled,
  test: { ...compiled.test, setupFiles: ['test/support/setup.ts'] },
} satisfies ViteUserConfig

/** Stops a run of tests on a program that is not the one of the sources. */
export function expectCompiled(): void {
  const sources = ['src', 'schema', 'bench', 'test/support'].flatMap((folder) => filesIn(folder, '.ts'))
  const outdated = sources.filter((source) => {
    const compiled = compiledOf(source)
    return !existsSync(compiled) || statSync(compiled).mtimeMs < statSync(join(root, source)).mtimeMs
  })
  if (!existsSync(join(root, 'dist/bin/shopsync.js'))) outdated.push('src/bundle.mjs')
  if (outdated.length === 0) return
  const [first, ...others] = outdated
  const which = others.length > 0 ? `${first} and ${others.length} more` : first
  throw new Error(
    `The tests run the compiled program: expected dist/ to be newer than every source, and ${which} changed since. Type: npm run build`,
  )
}
