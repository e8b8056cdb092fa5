/** The scripts of `shopsync completion`, run by the shells that are here. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commands } from '../../src/cli/commands/index.js'
import { shopsync } from '../support/place.js'
import { scratch } from '../support/scratch.js'

const folder = scratch()
const script = async (shell: string): Promise<string> => {
  const { code, stdout } = await shopsync(['completion', shell])
  expect(code).toBe(0)
  return stdout
}

/** What bash offers for the last of these words. */
function offered(file: string, ...words: string[]): string[] {
  const line = `source "$1"; shift; COMP_WORDS=(shopsync "$@"); COMP_CWORD=$#; _shopsync; printf '%s\\n' "\${COMPREPLY[@]}"`
  const stdout = execFileSync('bash', ['-c', line, 'bash', file, ...words], { cwd: folder, encoding: 'utf8' })
  return stdout.split('\n').filter((word) => word !== '')
}

test('bash completes commands, their flags, and the values that are known', async () => {
  const file = join(folder, 'completion.bash')
  writeFileSync(file, await script('bash'))
  for (const { name } of commands) expect(offered(file, name)).toContain(name)
  expect(offered(file, 're')).toEqual(
    ['reconcile', 'report'].filter((name) => commands.some((c) => c.name === name)),
  )
  for (const { name, options = [] } of commands)
    for (const { flags } of options) {
      const flag = /--[\w-]+/.exec(flags)?.[0] ?? ''
      expect(offered(file, name, flag)).toContain(flag)
    }
  for (const { name, argument, second } of commands)
    for (const word of argument?.choices ?? []) {
      expect(offered(file, name, word)).toContain(word)
      if (second?.names === 'jobs') expect(offered(file, name, word, 'hour')).toEqual(['hourly'])
    }
  for (const { name, options = [] } of commands)
    for (const { flags, choices } of options)
      if (choices) expect(offered(file, name, flags.split(' ')[0] ?? '', '')).toEqual(choices)
  expect(offered(file, 'sync', '--resource', 'repair_')).toEqual(['repair_orders'])
  expect(offered(file, 'plan', 'rec')).toEqual(['reconcile'])
  expect(offered(file, 'why', 'repair_order_par')).toEqual(['repair_order_parts'])
  expect(offered(file, 'help', 'quar')).toEqual(['quarantine'])
  expect(offered(file, 'run', '--time')).toEqual(['--time-limit'])
  mkdirSync(join(folder, 'jobs'))
  writeFileSync(join(folder, 'jobs/mine.json'), '{}')
  expect(offered(file, 'run', 'mi')).toEqual(['mine'])
  expect(offered(file, 'jobs', 'show', 'mi')).toEqual(['mine'])
  expect(offered(file, '--log-level', 'd')).toEqual(['debug'])
  expect(offered(file, 'run', 'night')).toEqual(['nightly'])
  expect(offered(file, 'quarantine', 're')).toEqual(['replay'])
  expect(offered(file, '--config', 'compl')).toEqual(['completion.bash'])
  expect(offered(file, 'sync', '--tenant', '')).toEqual([])
})

test.each(['zsh', 'fish'])('%s: a script without an error', async (shell) => {
  const file = join(folder, `completion.${shell}`)
  const text = await script(shell)
  writeFileSync(file, text)
  for (const { name } of commands) expect(text).toContain(name)
  // A machine without this shell checks the words alone.
  if (spawnSync(shell, ['-c', 'true']).status !== 0) return
  expect(spawnSync(shell, ['-n', file]).status).toBe(0)
})

test('another shell is wrong usage', async () => {
  expect(await shopsync(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected bash, zsh, fish'),
  })
})
