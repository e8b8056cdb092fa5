import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { features } from '../../src/main.js'
import { commandsOf } from '../../src/shell/features.js'
import { packageFolder } from '../../src/shell/package.js'
import { shopsync } from '../support/harness/call.js'
import { compiledOf } from '../support/harness/compiled.js'

const commands = commandsOf(features)

describe.each(commands.map((command) => [command.name, command] as const))('%s', (name, command) => {
  test('has help that explains it and every option', async () => {
    const { code, stdout, stderr } = await shopsync([name, '--help'])
    expect(code).toBe(0)
    expect(stderr).toBe('')
    expect(stdout).toContain(`Usage: shopsync ${name}`)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(command.summary)
    for (const { flags } of command.options ?? []) expect(stdout).toContain(flags)
    for (const flag of ['--config', '--json', '--quiet', '--log-level']) expect(stdout).toContain(flag)
    for (const [line] of command.examples) expect(stdout).toContain(`\n  ${line}`)
    const said = [command.help ?? '', ...command.examples.map(([, says]) => says)].join(' ')
    expect(said.length).toBeGreaterThan(40)
    expect(stdout.split('\n').filter((text) => text.length > 80 && !text.startsWith('  shopsync'))).toEqual(
      [],
    )
  })
})

test('--help lists every command and the exit codes, and --version shows the version', async () => {
  const { code, stdout } = await shopsync(['--help'])
  expect(code).toBe(0)
  for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
  expect(stdout).toContain('Exit codes:')
  expect(stdout).toContain(packageFolder())
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect((await shopsync(['--version'])).stdout).toBe(`${version}\n`)
})

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
