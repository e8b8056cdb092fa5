/** Without targets, the program loads none of the code that ranks, counts or forecasts. */
import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { compiledOf } from '../../support/harness/compiled.js'

/** The compiled files that a file loads before it runs, itself among them. */
function loadedBy(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export)[^'"()]*?'(\.[^']+)'/gm)
  for (const [, name = ''] of imports) loadedBy(resolve(dirname(file), name), found)
  return found
}

const folder = compiledOf('src/features/targets')
const ofTargets = (...sources: string[]): string[] =>
  [...new Set(sources.flatMap((source) => [...loadedBy(compiledOf(source))]))]
    .map((file) => relative(folder, file))
    .filter((file) => !file.startsWith('..'))
    .toSorted()

it('the start of the program loads only the manifest of the feature', () => {
  expect(ofTargets('src/entry.ts')).toEqual(['feature.js'])
})

it('a run without targets also loads its table', () => {
  const plain = ['src/shell/execute.ts', 'src/features/sync/work.ts', 'src/features/reconcile/work.ts']
  const asked = ['src/engine/config/targetsection.ts', 'src/features/targets/tables.ts']
  expect(ofTargets('src/entry.ts', ...plain, ...asked)).toEqual(['feature.js', 'tables.js'])
})
