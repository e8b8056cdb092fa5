/* Calls one of the user's programs, which gets a message on stdin: for alerts, and for what follows a run. */

import { spawn } from 'node:child_process'
import type { Environment } from '../engine/config/expand.js'
import type { CommandContext } from './command.js'
import type { Sent } from './send.js'

/** How long to wait for the program's remaining output after it exits, in milliseconds. */
const graceMs = 200

/** How much of the program's stderr is kept. */
const mostOfStderr = 500

/** How much of the output is shown, where it is kept: its end says what went wrong. */
const mostOfOutput = 4096

/** A secret this short appears in other values, such as PATH, only by chance. */
const shortSecret = 8

/** The environment without the variables that hold a secret: the program notifies people and never calls the API. */
const environmentWithout = (environment: Environment, secrets: readonly string[]): NodeJS.ProcessEnv => {
  const holds = (value: string): boolean =>
    secrets.some((secret) => value === secret || (secret.length >= shortSecret && value.includes(secret)))
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value === undefined || value === '' || !holds(value)),
  )
}

/** How a program ended. */
export interface Called extends Sent {
  /** The end of what it printed, without secrets, if that is wanted. */
  readonly output?: string | undefined
}

/** Where the user's programs run: in the configuration's folder, as it names them and the files among their arguments. */
export interface Programs {
  readonly environment: Environment
  readonly folder: string
}

export const programsOf = ({
  config: { folder },
  invocation: {
    io: { environment },
  },
}: Pick<CommandContext, 'config' | 'invocation'>): Programs => ({ environment, folder })

/** Runs the program. Never throws: if the program can't be started, the message counts as not delivered. */
export function callCommand(call: {
  readonly programs: Programs
  readonly command: readonly string[]
  readonly input: string
  /** After this many milliseconds, the program and everything it started are killed. */
  readonly limitMs: number
  /** Values that must not appear in the program's environment or in anything reported about it. */
  readonly secrets: readonly string[]
  /**
   * It goes on with the work, so it gets the whole environment, as it may read the warehouse or start shopsync; and the
   * end of its output is wanted.
   */
  readonly goesOn?: boolean | undefined
  /** Fires when shopsync is shutting down: the program is killed then, too. */
  readonly signal?: AbortSignal | undefined
}): Promise<Called> {
  const { command, input, limitMs, secrets, signal, programs, goesOn } = call
  const [program = '', ...words] = command
  let timer: NodeJS.Timeout | undefined
  let kill = (): void => {}
  const ended = new Promise<Called>((resolve) => {
    let stderr = ''
    let printed = ''
    let isLate = false
    const end = (delivered: boolean, found: string): void =>
      resolve({
        delivered,
        worthRetrying: !delivered,
        found,
        output: goesOn ? concealed(printed, secrets).slice(-mostOfOutput) : undefined,
      })
    // Its own process group, so its children end with it.
    const child = spawn(program, words, {
      detached: true,
      cwd: programs.folder,
      env: goesOn ? { ...programs.environment } : environmentWithout(programs.environment, secrets),
      stdio: ['pipe', goesOn ? 'pipe' : 'ignore', 'pipe'],
    })
    const outputs = [child.stdout, child.stderr].flatMap((output) => output ?? [])
    const letGo = (): void => outputs.forEach((output) => void output.destroy())
    // Twice what is shown: a secret that the cut goes through couldn't be found any more.
    for (const output of outputs)
      output.setEncoding('utf8').on('data', (text: string) => {
        printed = (printed + text).slice(-2 * mostOfOutput)
      })
    kill = (): void => {
      isLate = true
      killGroup(child.pid)
      // A grandchild that left the group may hold them open; its output doesn't matter.
      letGo()
    }
    timer = setTimeout(kill, limitMs)
    signal?.addEventListener('abort', kill, { once: true })
    child.on('error', (error: NodeJS.ErrnoException) => end(false, notStarted(error).found))
    child.stderr?.on('data', (text: string) => {
      if (stderr.length < mostOfStderr) stderr = (stderr + text).slice(0, mostOfStderr)
    })
    // A program that reads nothing has closed stdin. Its exit code tells whether it succeeded.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
    child.on('exit', (code, endedBy) => {
      // Something the program left running may hold them open.
      const closed = setTimeout(letGo, graceMs)
      child.once('close', () => {
        clearTimeout(closed)
        if (isLate) return end(false, lateWords(limitMs, signal?.aborted === true))
        const said = stderr.trim() === '' ? '' : `: ${concealed(stderr.trim(), secrets)}`
        const how = endedBy === null ? `exit code ${code}` : `ended by ${endedBy}`
        end(code === 0, code === 0 ? 'exit code 0' : `${how}${said}`)
      })
    })
  })
  // Too long a list of arguments and variables throws; too many open files leaves a child without streams.
  return ended.catch(notStarted).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', kill)
  })
}

const notStarted = ({ code }: NodeJS.ErrnoException): Sent => ({
  delivered: false,
  worthRetrying: true,
  found: `it could not be started (${code ?? 'unknown reason'})`,
})

const lateWords = (limitMs: number, isInterrupted: boolean): string =>
  isInterrupted
    ? 'it was killed, because a signal ended shopsync'
    : `it did not end within ${Math.round(limitMs / 1000)} s and was killed`

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has already ended.
  }
}

/** The text with these secrets masked. */
const concealed = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length > 3)
    .reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text)
