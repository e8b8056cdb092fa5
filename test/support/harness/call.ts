/** The program called in this process: its output and its exit code, without another process. */
import { tmpdir } from 'node:os'
import { Readable, Writable } from 'node:stream'
import { features } from '../../../src/main.js'
import { call } from '../../../src/shell/call.js'
import type { Feature } from '../../../src/shell/command.js'
import type { Io, SignalName } from '../../../src/shell/io.js'
import { root } from './tree.js'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** stdout, parsed: throws if it isn't exactly one JSON document. */
  json<T>(): T
}

export interface CallOptions {
  /** Default: a shared folder. */
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Features beside the program's own. */
  readonly more?: readonly Feature[]
  /** Called once it has started. */
  readonly during?: (call: Call) => void
}

/** Collects what is written, as a pipe would. */
class Collected extends Writable {
  text = ''

  constructor(private readonly written: () => void) {
    super({ decodeStrings: false })
  }

  override _write(chunk: string | Uint8Array, _encoding: string, done: () => void): void {
    this.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    this.written()
    done()
  }
}

/** One call of the program; it can be sent signals while it runs. */
export class Call {
  readonly stdout = new Collected(() => this.#tell())
  readonly stderr = new Collected(() => this.#tell())
  readonly ended: Promise<Ended>
  readonly #listeners = new Set<(name: SignalName) => void>()
  readonly #readers: ((text: string) => void)[] = []

  constructor(
    words: readonly string[],
    { cwd = tmpdir(), env = {}, stdin = '', more = [] }: CallOptions = {},
  ) {
    const { stdout, stderr } = this
    const { PATH = '' } = process.env
    const code = new Promise<number>((resolve, reject) => {
      const io: Io = {
        environment: { PATH, ...env },
        workingDirectory: cwd,
        stdin: Readable.from([stdin]),
        stdout,
        stderr,
        onSignal: (listener) => {
          this.#listeners.add(listener)
          return () => this.#listeners.delete(listener)
        },
        interrupt: () => this.kill('SIGINT'),
        exit: resolve,
        started: { node: process.execPath, program: `${root}/dist/bin/shopsync.js` },
        collectAt: () => {},
      }
      call(more.length > 0 ? [...features, ...more] : features, words, io).then(resolve, reject)
    })
    this.ended = code.then((exitCode) => ({
      code: exitCode,
      signal: null,
      stdout: stdout.text,
      stderr: stderr.text,
      json: () => JSON.parse(stdout.text),
    }))
  }

  /** Calls the reader with everything written so far, whenever there is more. */
  onText(reader: (text: string) => void): void {
    this.#readers.push(reader)
  }

  #tell(): void {
    for (const reader of this.#readers) reader(this.stdout.text + this.stderr.text)
  }

  kill(name: SignalName): void {
    for (const listener of this.#listeners) listener(name)
  }
}

export function shopsync(words: readonly string[], options: CallOptions = {}): Promise<Ended> {
  const call = new Call(words, options)
  options.during?.(call)
  return call.ended
}
