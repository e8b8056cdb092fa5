import { expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { commands } from '../support/harness/declared.js'
import { loadedWith } from '../support/harness/tree.js'

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

test('starting only loads commander and a small package that compares words: the help must not wait for drivers and parsers', () => {
  const loaded = [...loadedWith('dist/src/entry.js')]
  const packages = loaded.filter((name) => !/^(dist\/|node:)/.test(name))
  expect(packages).toEqual(['commander', 'fastest-levenshtein'])
})
