import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { compiledOf } from '../support/harness/compiled.js'
import { commands } from '../support/harness/declared.js'

test.each(commands.map((command) => [command.name, command] as const))(
  '%s has help that explains it, every option and its examples',
  async (name, { summary, options = [], examples, help = '' }) => {
    const { code, stdout, stderr } = await shopsync([name, '--help'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(summary)
    const flags = [...options.map((option) => option.flags), '--config', '--json', '--quiet', '--log-level']
    const lines = examples.map(([line]) => `\n  ${line}`)
    for (const said of [`Usage: shopsync ${name}`, ...flags, ...lines]) expect(stdout).toContain(said)
    expect([help, ...examples.map(([, says]) => says)].join(' ').length).toBeGreaterThan(40)
    const isWide = (text: string): boolean => text.length > 80 && !text.startsWith('  shopsync')
    expect(stdout.split('\n').filter(isWide)).toEqual([])
  },
)

/** Files and packages that are loaded as soon as a file is, in the order of discovery. */
function loadedWith(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(
    /^(?:import|export) [^;]*?from '([^']+)'/gm,
  )) {
    if (from.startsWith('.')) loadedWith(join(dirname(file), from), seen)
    else seen.add(from)
  }
  return seen
}

test('starting only loads commander and a small package that compares words: the help must not wait for drivers and parsers', () => {
  const packages = [...loadedWith(compiledOf('src/entry.ts'))].filter(
    (name) => !name.startsWith('/') && !name.startsWith('node:'),
  )
  expect(packages).toEqual(['commander', 'fastest-levenshtein'])
})
