import type { Writable } from 'node:stream'
import { WriteStream } from 'node:tty'
import { describeError, Stop, wordsOf } from '../engine/base/errors.js'
import { visible } from '../engine/base/escape.js'
import { shortRequests } from '../engine/base/format.js'
import { harmless, plainTerminal, type Terminal } from './terminal.js'

export interface OutputOptions {
  readonly json: boolean
  readonly quiet: boolean
  readonly stdout: Writable
  readonly stderr: Writable
  /** How text is fitted to a terminal; needed only where there is one. */
  readonly layOut?: (terminal: Terminal, text: string) => string
}

/** Colours as Node judges them: none with NO_COLOR or TERM=dumb, and with FORCE_COLOR always some. */
const paperOf = (stream: Writable): Terminal =>
  stream instanceof WriteStream && stream.isTTY
    ? { columns: stream.columns || 80, colours: stream.hasColors() }
    : plainTerminal

/** Everything that the program prints. With --json, stdout carries one JSON document and nothing else. */
export class Output {
  constructor(private readonly options: OutputOptions) {}

  get json(): boolean {
    return this.options.json
  }

  get quiet(): boolean {
    return this.options.quiet
  }

  /** What text for people goes onto: tables are drawn for it. */
  get terminal(): Terminal {
    return paperOf(this.options.stdout)
  }

  /** Whether somebody reads the texts as they come. */
  get isRead(): boolean {
    return !this.json && !this.quiet && this.terminal !== plainTerminal
  }

  /** Text for people: not with --json, not with --quiet. */
  print(text: string): void {
    if (!this.json && !this.quiet) this.say(text)
  }

  /** Lines for people that go into a file as they are: a terminal's width must not break them. */
  printAsIs(text: string): void {
    if (!this.json && !this.quiet) this.result(text)
  }

  /** Text for people that is the answer to a question: --quiet does not silence it. */
  say(text: string): void {
    this.result(this.#fitted(this.options.stdout, text))
  }

  /** The answer to a question, such as a dictionary, as it is: --quiet does not silence the answer. */
  result(text: string): void {
    this.options.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
  }

  /** A file that is no text. `typed`: what to type instead where it would go to a terminal, which such bytes confuse. */
  file(content: Buffer, typed: string): void {
    const { stdout } = this.options
    if ('isTTY' in stdout && stdout.isTTY === true)
      throw new Stop('Found a terminal, expected a file to write the archive to', {
        exitCode: 2,
        hint: `Type ${typed}`,
      })
    stdout.write(content)
  }

  /** The one document of --json. */
  async document(value: unknown): Promise<void> {
    const { toJson } = await import('../engine/base/printjson.js')
    this.result(visible(toJson(value, 2)))
  }

  /** The outcome of a command: its document with --json, else its text. */
  async answer(value: unknown, text: string): Promise<void> {
    if (this.json) await this.document(value)
    else this.print(text)
  }

  /**
   * What needs somebody, a line each, where --quiet keeps the rest from being said: cron mails what a program prints, and
   * a run that fails without a word would go unnoticed.
   */
  complain(lines: readonly string[]): void {
    if (this.quiet) for (const line of lines) this.#tell(`shopsync: ${shortRequests(line)}`)
  }

  /** A line on stderr that is no log entry. */
  note(text: string): void {
    if (!this.quiet) this.#tell(text)
  }

  /** A line on stderr about what needs somebody: --quiet does not silence it, so that cron mails it. */
  trouble(text: string): void {
    this.#tell(text)
  }

  /**
   * Errors are printed whatever the flags say, but for a lock that another run holds: with --quiet the exit code says
   * enough. With --json, stdout gets the error as its document as well.
   */
  async error(error: unknown, exitCode: number): Promise<void> {
    if (!this.quiet || exitCode !== 4) this.#tell(`shopsync: ${shortRequests(describeError(error))}`)
    if (!this.json) return
    const { message, hint = null } = wordsOf(error)
    await this.document({ error: { message, hint, exit_code: exitCode } })
  }
  #tell(text: string): void {
    const { stderr } = this.options
    stderr.write(`${this.#fitted(stderr, text)}\n`)
  }

  #fitted(stream: Writable, text: string): string {
    const { layOut } = this.options
    const terminal = paperOf(stream)
    const shown = harmless(terminal, text)
    return layOut ? layOut(terminal, shown) : shown
  }
}
