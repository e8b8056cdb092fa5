import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Sandbox } from '../../src/sandbox/index.js'
import { scratch } from './postgres.js'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

const newest = (folder: string): number =>
  Math.max(
    0,
    ...readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  )

/** The program as users run it. */
export const program = (): string => join(compiled(), 'src/cli/main.js')

/** Everything as `npm run build` has compiled it; compiled here when the sources are newer than that. */
export function compiled(): string {
  const main = join(root, 'dist/src/cli/main.js')
  const sources = Math.max(...['src', 'schema', 'test/support'].map((folder) => newest(join(root, folder))))
  if (existsSync(main) && statSync(main).mtimeMs >= sources) return join(root, 'dist')
  const out = scratch()
  try {
    execFileSync(process.execPath, [
      join(root, 'node_modules/typescript/bin/tsc'),
      ...['-p', root, '--outDir', out],
    ])
  } catch {
    // It says what is wrong in other files too; what matters here is whether the program came out.
  }
  symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'))
  writeFileSync(join(out, 'package.json'), '{"name":"shopsync","version":"0.0.0","type":"module"}')
  return out
}

export interface Address {
  readonly url: string
  readonly schema: string
}

/** A folder with a configuration of the sandbox and a warehouse; its path. */
export function configure(sandbox: Sandbox, { url, schema }: Address, resources: readonly string[]): string {
  const folder = scratch()
  mkdirSync(folder, { recursive: true })
  const { url: baseUrl, partnerId, secret } = sandbox
  const warehouse = url.startsWith('sqlite:') ? { url } : { url, schema }
  const config = { api: { baseUrl, partnerId, secret }, warehouse, sync: { resources } }
  const file = join(folder, 'config.json')
  writeFileSync(file, JSON.stringify(config))
  return file
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A process of the program; it never outlives the tests. */
export class Program {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>

  /** `kilobytes`: how large a file may grow that it writes; a write beyond it fails, as on a disk that is full. */
  constructor(main: string, args: readonly string[], kilobytes?: number) {
    const words = [process.execPath, main, ...args]
    const limited = ['bash', '-c', `ulimit -f ${kilobytes}; exec "$0" "$@"`, ...words]
    const [command = '', ...rest] = kilobytes === undefined ? words : limited
    this.child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
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
        resolve({ code, signal, stdout, stderr })
      })
    })
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }
}
