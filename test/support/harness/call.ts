/** The program called in this process: its output and its exit code, without another process. */
import { tmpdir } from 'node:os'
import { PassThrough, Readable, Writable } from 'node:stream'
import { WriteStream } from 'node:tty'
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
  /** On a terminal, what is typed at its prompt. */
  readonly stdin?: string
  /** A terminal as wide as this: all that is written is in `stdout`. Default: pipes. */
  readonly columns?: number | undefined
  /** Features beside the program's own. */
  readonly more?: readonly Feature[]
  /** Called once it has started. */
  readonly during?: ((call: Call) => void) | undefined
}

/** Collects what is written, as a pipe or a terminal would. */
class Collected extends Writable {
  text = ''
  readonly isTTY: boolean

  constructor(
    private readonly written: () => void,
    readonly columns = 0,
    private readonly env: Readonly<Record<string, string>> = {},
  ) {
    super({ decodeStrings: false })
    this.isTTY = columns > 0
  }

  hasColors(): boolean {
    return WriteStream.prototype.getColorDepth({ TERM: 'xterm', ...this.env }) > 1
  }

  override _write(chunk: string | Uint8Array, _encoding: string, done: () => void): void {
    this.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    this.written()
    done()
  }
}

/** A terminal's keys, in raw mode while somebody reads them one by one. */
function typed(keys: string): Io['stdin'] {
  const input = new PassThrough()
  input.write(keys)
  return Object.assign(input, { isTTY: true, setRawMode: () => input })
}

/** One call of the program; it can be sent signals while it runs. */
export class Call {
  readonly stdout: Collected
  readonly stderr: Collected
  readonly ended: Promise<Ended>
  readonly #listeners = new Set<(name: SignalName) => void>()
  readonly #readers: ((text: string) => void)[] = []

  constructor(
    words: readonly string[],
    { cwd = tmpdir(), env = {}, stdin = '', columns, more = [] }: CallOptions = {},
  ) {
    const stdout = new Collected(() => this.#tell(), columns, env)
    const stderr = columns ? stdout : new Collected(() => this.#tell())
    this.stdout = stdout
    this.stderr = stderr
    const { PATH = '' } = process.env
    const code = new Promise<number>((resolve, reject) => {
      const io: Io = {
        environment: { PATH, ...env },
        workingDirectory: cwd,
        stdin: columns ? typed(stdin) : Readable.from([stdin]),
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
      stderr: columns ? '' : stderr.text,
      json: () => JSON.parse(stdout.text),
    }))
  }

  /** Calls the reader with everything written so far, whenever there is more. */
  onText(reader: (text: string) => void): void {
    this.#readers.push(reader)
  }

  #tell(): void {
    for (const reader of this.#readers)
      reader(this.stdout.text + (this.stderr === this.stdout ? '' : this.stderr.text))
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

/** A call that has to end well. */
export async function done(config: string, ...words: readonly string[]): Promise<Ended> {
  const ended = await shopsync([...words, '--config', config])
  if (ended.code !== 0)
    throw new Error(`${words.join(' ')} ended with ${ended.code}: ${ended.stdout}${ended.stderr}`)
  return ended
}
