/** The program, or a script of the tests, as a process of its own: compiled. */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compiledOf } from './compiled.js'
import type { Target } from './run.js'
import { scratch } from './scratch.js'

/** The program, file by file; test/package/bundle.test.ts runs what is installed of it. */
export const program = compiledOf('src/cli/main.ts')

export interface Address {
  readonly url: string
  readonly schema: string
  /** Rows from which a page goes to SQLite's writer thread. */
  readonly threadFrom?: number
}

/** A folder with a configuration of the sandbox and a warehouse; the configuration's path. */
export function configure(
  sandbox: Target,
  { url, schema }: Address,
  resources: readonly string[],
  more: {
    readonly sync?: object
    readonly api?: object
    readonly resources?: object
    readonly report?: object
    readonly schedule?: object
    readonly alerts?: object
  } = {},
): string {
  const { url: baseUrl, partnerId, secret } = sandbox
  const warehouse = url.startsWith('sqlite:') ? { url } : { url, schema }
  const config = {
    api: { baseUrl, partnerId, secret, ...more.api },
    warehouse,
    sync: { resources, ...more.sync },
    ...(more.resources && { resources: more.resources }),
    ...(more.report && { report: more.report }),
    ...(more.schedule && { schedule: more.schedule }),
    ...(more.alerts && { alerts: more.alerts }),
  }
  const file = join(scratch(), 'config.json')
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  return file
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** stdout, parsed: throws when it is not exactly one JSON document. */
  json<T>(): T
}

export interface ProgramOptions {
  readonly cwd?: string
  /** Default: this process's environment. */
  readonly env?: Record<string, string>
  /** How large a file may grow that the process writes; a write beyond it fails, as on a disk that is full. */
  readonly kilobytes?: number
}

/** A process of a script; it never outlives the tests. */
export class Program {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>

  constructor(script: string, args: readonly string[], { kilobytes, ...options }: ProgramOptions = {}) {
    const words = [process.execPath, '--', script, ...args]
    const limited = ['bash', '-c', `ulimit -f ${kilobytes}; exec "$0" "$@"`, ...words]
    const [command = '', ...rest] = kilobytes === undefined ? words : limited
    this.child = spawn(command, rest, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const giveUp = (): void => void this.child.kill('SIGKILL')
    process.once('exit', giveUp)
    this.ended = new Promise((resolve) => {
      let [stdout, stderr] = ['', '']
      this.child.stdout?.on('data', (chunk: Buffer) => {
        stdout += chunk.toString()
      })
      this.child.stderr?.on('data', (chunk: Buffer) => {
        stderr += chunk.toString()
      })
      this.child.once('close', (code, signal) => {
        process.off('exit', giveUp)
        resolve({ code, signal, stdout, stderr, json: () => JSON.parse(stdout) })
      })
    })
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }
}
