/* Alerts through one of the user's programs, which gets the message on stdin. Used by deliver.ts. */

import { spawn } from 'node:child_process'
import type { Environment } from '../../engine/config/expand.js'
import type { Io } from '../../shell/io.js'
import type { Sent } from './send.js'

/** How long to wait for the program's remaining output after it exits, in milliseconds. */
const graceMs = 200

/** How much of the program's stderr is kept. */
const mostOfStderr = 500

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

/** Runs the program. Never throws: if the program can't be started, the message counts as not delivered. */
export function callCommand(call: {
  readonly programs: Pick<Io, 'environment' | 'workingDirectory'>
  readonly command: readonly string[]
  readonly input: string
  /** After this many milliseconds, the program and everything it started are killed. */
  readonly limitMs: number
  /** Values that must not appear in the program's environment or in anything reported about it. */
  readonly secrets: readonly string[]
  /** Fires when shopsync is shutting down: the program is killed then, too. */
  readonly signal?: AbortSignal | undefined
}): Promise<Sent> {
  const { command, input, limitMs, secrets, signal, programs } = call
  const [program = '', ...words] = command
  let timer: NodeJS.Timeout | undefined
  let kill = (): void => {}
  const ended = new Promise<Sent>((resolve) => {
    let stderr = ''
    let isLate = false
    const end = (delivered: boolean, found: string): void =>
      resolve({ delivered, worthRetrying: !delivered, found })
    // Its own process group, so its children end with it.
    const child = spawn(program, words, {
      detached: true,
      cwd: programs.workingDirectory,
      env: environmentWithout(programs.environment, secrets),
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    kill = (): void => {
      isLate = true
      killGroup(child.pid)
      // A grandchild that left the group may hold stderr open; its output doesn't matter.
      child.stderr.destroy()
    }
    timer = setTimeout(kill, limitMs)
    signal?.addEventListener('abort', kill, { once: true })
    child.on('error', (error: NodeJS.ErrnoException) => end(false, notStarted(error).found))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < mostOfStderr) stderr = (stderr + text).slice(0, mostOfStderr)
    })
    // A program that reads nothing has closed stdin. Its exit code tells whether it succeeded.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.on('exit', (code, endedBy) => {
      // Something the program left running may hold stderr open.
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
