/** The program as installed, or a compiled script of the tests, in its own process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ended } from './call.js'
import { root } from './tree.js'

/** The installed program. Nearly every test calls it in its own process instead (call.ts), at a tenth of the cost. */
export const program = join(root, 'dist/bin/shopsync.js')

export interface ProgramOptions {
  readonly cwd?: string
  /** Default: this process's environment. */
  readonly env?: Record<string, string>
  /** The user it runs as; only root may choose one. */
  readonly uid?: number
  readonly gid?: number
  /** Another Node than that of the tests. */
  readonly node?: string
  /** How large a file written by the process may grow; a write beyond it fails, as on a full disk. */
  readonly kilobytes?: number | undefined
}

interface ShellOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** Called with the process once it runs. */
  readonly during?: (child: ChildProcess) => void
}

/** Runs the program as a shell would, with an environment of only PATH and `env`. */
export function spawned(
  words: readonly string[],
  { cwd = tmpdir(), env, during }: ShellOptions = {},
): Promise<Ended> {
  const { PATH = '' } = process.env
  const run = new Program(program, words, { cwd, env: { PATH, ...env } })
  during?.(run.child)
  return run.ended
}

/** A process of a script; it never outlives the tests. */
export class Program {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** What it has written so far. */
  readonly texts = { stdout: '', stderr: '' }

  constructor(script: string, args: readonly string[], { kilobytes, ...options }: ProgramOptions = {}) {
    const words = [options.node ?? process.execPath, '--', script, ...args]
    const limited = ['bash', '-c', `ulimit -f ${kilobytes}; exec "$0" "$@"`, ...words]
    const [command = '', ...rest] = kilobytes === undefined ? words : limited
    this.child = spawn(command, rest, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const giveUp = (): void => void this.child.kill('SIGKILL')
    process.once('exit', giveUp)
    for (const name of ['stdout', 'stderr'] as const)
      this.child[name]?.on('data', (chunk: Buffer) => {
        this.texts[name] += chunk.toString()
      })
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        process.off('exit', giveUp)
        resolve({ code, signal, ...this.texts, json: () => JSON.parse(this.texts.stdout) })
      })
    })
  }

  /** The first text like this that it writes to stdout. */
  told(pattern: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(this.texts.stdout)?.[0]
        if (found) resolve(found)
      }
      this.child.stdout?.on('data', look)
      look()
      void this.ended.then(({ stderr }) => reject(new Error(stderr)))
    })
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }
}
