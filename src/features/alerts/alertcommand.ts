/* Alerts by a program of the user's: it gets the message on stdin. Used by deliver.ts. */
import { spawn } from 'node:child_process'
import type { Environment } from '../../engine/config/expand.js'
import type { Sent } from './send.js'

/** Where programs of the user's run: as shopsync itself does. */
export interface ProgramPlace {
  readonly environment: Environment
  readonly workingDirectory: string
}

export interface CommandCall {
  readonly programs: ProgramPlace
  readonly command: readonly string[]
  readonly input: string
  /** After so many milliseconds the program and all that it has started are killed. */
  readonly limitMs: number
  /** Values that neither the program's environment nor what is said of it may hold. */
  readonly secrets: readonly string[]
  /** Fires when shopsync is to end: the program is killed then, too. */
  readonly signal?: AbortSignal | undefined
}

/** How long what the program said is waited for once it has ended, in milliseconds. */
const graceMs = 200

/** So much of what the program says on stderr is kept. */
const mostOfStderr = 500

/** A secret as short as this is no part of another value but by chance, such as that of PATH. */
const shortSecret = 8

/** The environment without the variables that hold a secret: the program tells people, and asks no API. */
const environmentWithout = (environment: Environment, secrets: readonly string[]): NodeJS.ProcessEnv => {
  const holds = (value: string): boolean =>
    secrets.some((secret) => value === secret || (secret.length >= shortSecret && value.includes(secret)))
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value === undefined || value === '' || !holds(value)),
  )
}

/** Runs the program. Never throws: a program that cannot be started is a message that was not delivered. */
export function callCommand(call: CommandCall): Promise<Sent> {
  const { command, input, limitMs, secrets, signal, programs } = call
  const [program = '', ...words] = command
  return new Promise((resolve) => {
    let stderr = ''
    let isLate = false
    const end = (delivered: boolean, found: string): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', kill)
      resolve({ delivered, worthRetrying: !delivered, found })
    }
    // A group of its own, so that its children end with it.
    const child = spawn(program, words, {
      detached: true,
      cwd: programs.workingDirectory,
      env: environmentWithout(programs.environment, secrets),
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    const kill = (): void => {
      isLate = true
      killGroup(child.pid)
      // A grandchild that left the group may hold stderr open: what it says is of no interest.
      child.stderr.destroy()
    }
    const timer = setTimeout(kill, limitMs)
    signal?.addEventListener('abort', kill, { once: true })
    child.on('error', (error: NodeJS.ErrnoException) => end(false, `it could not be started (${error.code})`))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < mostOfStderr) stderr = (stderr + text).slice(0, mostOfStderr)
    })
    // A program that reads nothing has closed stdin: its exit code tells whether it did its work.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.on('exit', (code, endedBy) => {
      // What the program has left running may hold stderr open.
      const closed = setTimeout(() => child.stderr.destroy(), graceMs)
      child.once('close', () => {
        clearTimeout(closed)
        if (isLate) return end(false, lateWords(limitMs, signal?.aborted === true))
        const said = stderr.trim() === '' ? '' : `: ${concealed(stderr.trim(), secrets)}`
        const how = endedBy === null ? `exit code ${code}` : `ended by ${endedBy}`
        end(code === 0, code === 0 ? 'exit code 0' : `${how}${said}`)
      })
    })
  })
}

const lateWords = (limitMs: number, isInterrupted: boolean): string =>
  isInterrupted
    ? 'it was killed, because a signal ended shopsync'
    : `it did not end within ${Math.round(limitMs / 1000)} s and was killed`

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended by itself.
  }
}

/** A text without these secrets. */
export const concealed = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length > 3)
    .reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text)
