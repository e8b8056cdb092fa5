/** The scripts of `shopsync completion`, run by the shells on this machine. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { features } from '../../../src/main.js'
import { shopsync } from '../../support/harness/call.js'
import { scratch } from '../../support/harness/scratch.js'

const commands = features.flatMap(({ command }) => command ?? [])

const folder = scratch()
const script = async (shell: string): Promise<string> => {
  const { code, stdout } = await shopsync(['completion', shell])
  expect(code).toBe(0)
  return stdout
}

/** Reads questions, each a line with the words after the program's name, and answers each with a line. */
const answering = `source "$1"
while IFS= read -r line; do
  IFS=$'\\x1f' read -r -a words <<< "$line."
  n=$((\${#words[@]} - 1)); words[n]="\${words[n]%.}"
  COMP_WORDS=(shopsync "\${words[@]}"); COMP_CWORD=\${#words[@]}; COMPREPLY=(); _shopsync
  (IFS=$'\\t'; printf '%s\\n' "\${COMPREPLY[*]}")
done`

/** A bash that has read the script, and what it offers for the last of some words. */
class Bash {
  readonly #bash: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>

  constructor(file: string) {
    this.#bash = spawn('bash', ['-c', answering, 'bash', file], { cwd: folder })
    this.#lines = createInterface({ input: this.#bash.stdout })[Symbol.asyncIterator]()
  }

  async offers(...words: string[]): Promise<string[]> {
    this.#bash.stdin.write(`${words.join('\x1f')}\n`)
    const { value = '' } = await this.#lines.next()
    return String(value)
      .split('\t')
      .filter((word) => word !== '')
  }

  end(): void {
    this.#bash.stdin.end()
  }
}

test('bash completes commands, their flags, and known values', async () => {
  const file = join(folder, 'completion.bash')
  writeFileSync(file, await script('bash'))
  const bash = new Bash(file)
  for (const { name } of commands) expect(await bash.offers(name)).toContain(name)
  expect(await bash.offers('re')).toEqual(
    ['report', 'reconcile', 'revoke'].filter((name) => commands.some((c) => c.name === name)),
  )
  for (const { name, options = [] } of commands)
    for (const { flags } of options) {
      const flag = /--[\w-]+/.exec(flags)?.[0] ?? ''
      expect(await bash.offers(name, flag)).toContain(flag)
    }
  for (const { name, argument, second } of commands)
    for (const word of argument?.choices ?? []) {
      expect(await bash.offers(name, word)).toContain(word)
      if (second?.names === 'jobs') expect(await bash.offers(name, word, 'hour')).toEqual(['hourly'])
    }
  for (const { name, options = [] } of commands)
    for (const { flags, choices } of options)
      if (choices) expect(await bash.offers(name, flags.split(' ')[0] ?? '', '')).toEqual(choices)
  expect(await bash.offers('sync', '--resource', 'repair_')).toEqual(['repair_orders'])
  expect(await bash.offers('plan', 'rec')).toEqual(['reconcile'])
  expect(await bash.offers('why', 'repair_order_par')).toEqual(['repair_order_parts'])
  expect(await bash.offers('help', 'quar')).toEqual(['quarantine'])
  expect(await bash.offers('run', '--time')).toEqual(['--time-limit'])
  mkdirSync(join(folder, 'jobs'))
  writeFileSync(join(folder, 'jobs/mine.json'), '{}')
  expect(await bash.offers('run', 'mi')).toEqual(['mine'])
  expect(await bash.offers('jobs', 'show', 'mi')).toEqual(['mine'])
  expect(await bash.offers('--log-level', 'd')).toEqual(['debug'])
  expect(await bash.offers('run', 'night')).toEqual(['nightly'])
  expect(await bash.offers('quarantine', 're')).toEqual(['replay'])
  expect(await bash.offers('--config', 'compl')).toEqual(['completion.bash'])
  expect(await bash.offers('sync', '--tenant', '')).toEqual([])
  bash.end()
})

test.each(['zsh', 'fish'])('%s: a script without an error', async (shell) => {
  const file = join(folder, `completion.${shell}`)
  const text = await script(shell)
  writeFileSync(file, text)
  for (const { name } of commands) expect(text).toContain(name)
  // A machine without this shell only checks the words.
  if (spawnSync(shell, ['-c', 'true']).status !== 0) return
  expect(spawnSync(shell, ['-n', file]).status).toBe(0)
})
