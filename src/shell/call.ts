import { type Command as Commander, CommanderError } from 'commander'
import { Bug, bugExitCode, describeError, exitCodeOf, isExpected, Stop } from '../engine/base/errors.js'
import type { Feature, Globals, Invocation } from './command.js'
import { commandsOf } from './features.js'
import type { Io } from './io.js'
import { Output } from './output.js'
import { type ParsedCall, program, usageProblem } from './program.js'
import { Signals } from './signals.js'
import { typedLines } from './typedlines.js'

async function output(
  features: readonly Feature[],
  { json, quiet }: Globals,
  { stdout, stderr }: Io,
): Promise<Output> {
  const isTerminal = stdout.isTTY || stderr.isTTY
  const layout = isTerminal ? await import('./width.js') : undefined
  const typed = (hint: string): string[] => typedLines(commandsOf(features), hint)
  return new Output({ json, quiet, stdout, stderr, layOut: layout?.layOut, typed })
}

/** Carries out one call of a command and returns the exit code. */
async function perform(
  features: readonly Feature[],
  parsed: ParsedCall,
  globals: Globals,
  io: Io,
): Promise<number> {
  const out = await output(features, globals, io)
  const signals = new Signals(io, (text) => out.note(text))
  try {
    return await answer(parsed, { features, globals, out, signals, io })
  } finally {
    signals.close()
  }
}

async function answer(
  { command, argument, second, options }: ParsedCall,
  given: Pick<Invocation, 'features' | 'globals' | 'out' | 'io'> & { readonly signals: Signals },
): Promise<number> {
  const { out, signals, io } = given
  const resumption = (): string => signals.resumesAt?.() ?? 'nothing was left half done'
  signals.overdue = (exitCode) => {
    const lock = 'the warehouse did not answer in time; any lock on it expires within a minute'
    void out
      .error(new Error(`Interrupted; ${lock}; ${resumption()}`), exitCode)
      .finally(() => io.exit(exitCode))
  }
  try {
    const work = command.run({ command: command.name, argument, second, options, ...given })
    const exitCode = await Promise.race([work, crash(io)])
    if (signals.exitCode === undefined) return out.isBroken ? bugExitCode : exitCode
  } catch (error) {
    if (signals.exitCode === undefined) return await failed(error, out)
    if (error instanceof Stop) out.note(`shopsync: ${describeError(error)}`)
  }
  await out.error(new Error(`Interrupted; ${resumption()}`), signals.exitCode)
  return signals.exitCode
}

/** Rejects when an error of ours ends the program that nothing has caught: it is told, and the program ends with 70. */
const crash = ({ onCrash }: Io): Promise<never> =>
  new Promise((_, reject) => {
    onCrash?.((error) => reject(isExpected(error) ? new Bug(describeError(error), { cause: error }) : error))
  })

/** What the machine refuses to any program, and what helps. */
const ofMachine = new Map([
  ['EMFILE', 'Let it open more files (ulimit -n 1024), and type it again'],
  ['ENFILE', 'Stop other programs, and type it again'],
  ['ENOMEM', 'Free memory, and type it again'],
  ['ENOSPC', 'Free space, and type it again'],
  ['EDQUOT', 'Free space, and type it again'],
  ['EROFS', 'Expected a disk that can be written to'],
  ['EIO', 'Check the disk'],
])

/** The error as a Stop if the machine is the cause: it isn't a bug, and no stack helps. */
function machineTrouble(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  const hint = error instanceof Error && 'syscall' in error ? ofMachine.get(code ?? '') : undefined
  return hint === undefined
    ? error
    : new Stop(`The machine refused something: ${message}`, { exitCode: 3, hint, cause: error })
}

async function failed(thrown: unknown, out: Output): Promise<number> {
  const error = machineTrouble(thrown)
  const exitCode = exitCodeOf(error)
  await out.error(error, exitCode)
  out.survive(error)
  return exitCode
}

/**
 * One call of the program: takes its arguments, returns its exit code. Reads and changes the process only through `io`.
 */
export async function call(features: readonly Feature[], words: readonly string[], io: Io): Promise<number> {
  let exitCode = 0
  const root = program(commandsOf(features), io.stdout, async (parsed) => {
    exitCode = await perform(features, parsed, globalsOf(root), io)
  })
  try {
    await root.parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    const named = words.find((word) => root.commands.some((command) => command.name() === word))
    const problem = usageProblem(error, named)
    if (!problem) return 0
    // Commander stops at the first wrong word, so it hasn't seen a --json after it.
    const globals = { ...globalsOf(root), json: words.includes('--json') }
    await (await output(features, globals, io)).error(
      new Stop(problem.message, { exitCode: 2, hint: problem.hint }),
      2,
    )
    return 2
  }
}

function globalsOf(root: Commander): Globals {
  const { config, envFile, json, quiet, logLevel } = root.opts<Partial<Globals>>()
  return { config, envFile, json: json === true, quiet: quiet === true, logLevel }
}
