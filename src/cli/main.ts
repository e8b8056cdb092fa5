#!/usr/bin/env -S node --
// Without the two dashes Node takes --env-file for its own flag, and ends with 9 where the file is not there.
import { CommanderError } from 'commander'
import { describeError, Stop } from '../errors.js'
import type { Globals } from './command.js'
import { commands } from './commands/index.js'
import { Output } from './output.js'
import { globalsOf, type ParsedCall, program, usageProblem } from './program.js'
import { Signals } from './signals.js'
import { bearClosedPipes, endWith, stdout } from './stdout.js'

async function output({ json, quiet }: Globals): Promise<Output> {
  const { stderr } = process
  const isTerminal = process.stdout.isTTY || stderr.isTTY
  const layout = isTerminal ? await import('./layout.js') : undefined
  return new Output({ json, quiet, stdout, stderr, ...layout })
}

/** Carries out one call of a command, and gives the exit code. */
async function perform(call: ParsedCall, globals: Globals): Promise<number> {
  const out = await output(globals)
  const signals = new Signals((text) => out.note(text))
  const resumption = (): string => signals.resumesAt?.() ?? 'nothing was left half done'
  signals.overdue = (exitCode) => {
    const lock = 'the warehouse did not answer in time, and a lock on it expires within a minute'
    void out
      .error(new Error(`Interrupted; ${lock}; ${resumption()}`), exitCode)
      .finally(() => process.exit(exitCode))
  }
  const { command, argument, second, options } = call
  try {
    const exitCode = await command.run({
      command: command.name,
      globals,
      argument,
      second,
      options,
      out,
      signals,
    })
    if (signals.exitCode === undefined) return exitCode
  } catch (error) {
    if (signals.exitCode === undefined) return await failed(error, out)
    if (error instanceof Stop) out.note(`shopsync: ${describeError(error)}`)
  }
  await out.error(new Error(`Interrupted; ${resumption()}`), signals.exitCode)
  return signals.exitCode
}

async function failed(error: unknown, out: Output): Promise<number> {
  const exitCode = error instanceof Stop ? error.exitCode : 1
  await out.error(error, exitCode)
  const expected = error instanceof Error && ['Stop', 'Skip', 'Retry'].includes(error.name)
  if (!expected && error instanceof Error) out.note(`This should not have happened.\n${error.stack ?? ''}`)
  return exitCode
}

async function main(words: readonly string[]): Promise<number> {
  let exitCode = 0
  const root = program(commands, async (call) => {
    exitCode = await perform(call, globalsOf(root))
  })
  try {
    await root.parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    const problem = usageProblem(error)
    if (!problem) return 0
    // Commander stops at the first wrong word, and has not seen a --json behind that word.
    const globals = { ...globalsOf(root), json: words.includes('--json') }
    await (await output(globals)).error(new Stop(problem.message, { exitCode: 2, hint: problem.hint }), 2)
    return 2
  }
}

bearClosedPipes()
const exitCode = await main(process.argv.slice(2))
// Text may still be on its way to stdout: the process ends after it, whatever else would keep the process alive.
endWith(exitCode)
