import type { Writable } from 'node:stream'
import { describeError, isExpected, Stop, wordsOf } from '../engine/base/errors.js'
import { visible } from '../engine/base/escape.js'
import { shortRequests } from '../engine/base/format.js'
import type { MaybeTerminal } from './io.js'
import { harmless, plainTerminal, type Terminal } from './terminal.js'

/** Colors according to Node: none with NO_COLOR or TERM=dumb, and always some with FORCE_COLOR. */
const paperOf = (stream: MaybeTerminal<Writable>): Terminal =>
  stream.isTTY ? { columns: stream.columns || 80, colours: stream.hasColors?.() === true } : plainTerminal

/** Everything that the program prints. With --json, stdout gets one JSON document and nothing else. */
export class Output {
  #hasDocument = false
  /** Whether a part of the work failed by a fault of ours. Then the exit code is 70, whatever the other parts did. */
  isBroken = false
  /** Writes to the terminal. A progress line, which has no end of its own, is removed before. */
  around: (write: () => void) => void = (write) => write()

  constructor(
    private readonly options: {
      readonly json: boolean
      readonly quiet: boolean
      readonly stdout: MaybeTerminal<Writable>
      readonly stderr: MaybeTerminal<Writable>
      /** Fits text to a terminal; only needed if there is one. */
      readonly layOut?: ((terminal: Terminal, text: string) => string) | undefined
      /** The commands in a hint that can be typed as they are, for the document. */
      readonly typed?: ((hint: string) => readonly string[]) | undefined
    },
  ) {}

  get json(): boolean {
    return this.options.json
  }

  get quiet(): boolean {
    return this.options.quiet
  }

  /** Where text for people is shown; tables are laid out for it. */
  get terminal(): Terminal {
    return paperOf(this.options.stdout)
  }

  /** Whether a person reads the texts as they appear. */
  get isRead(): boolean {
    return !this.json && !this.quiet && this.terminal !== plainTerminal
  }

  /** Text for people: not with --json or --quiet. */
  print(text: string): void {
    if (!this.json && !this.quiet) this.say(text)
  }

  /** Lines for people that go into a file as they are: a terminal's width must not break them. */
  printAsIs(text: string): void {
    if (!this.json && !this.quiet) this.result(text)
  }

  /** Text for people that is the result they asked for, so --quiet doesn't suppress it. */
  say(text: string): void {
    this.result(this.#fitted(this.options.stdout, text))
  }

  /** The result that was asked for, such as a dictionary, unchanged. --quiet doesn't suppress it. */
  result(text: string): void {
    this.around(() => this.options.stdout.write(text.endsWith('\n') ? text : `${text}\n`))
  }

  /** A binary file. `typed`: what to type instead if it would go to a terminal, which such bytes confuse. */
  file(content: Buffer, typed: string): void {
    const { stdout } = this.options
    if (stdout.isTTY)
      throw new Stop('Found a terminal, expected a file to write the archive to', {
        exitCode: 2,
        hint: `Type ${typed}`,
      })
    stdout.write(content)
  }

  /** The one document of --json. */
  async document(value: unknown): Promise<void> {
    this.#hasDocument = true
    const { toJson } = await import('../engine/base/printjson.js')
    this.result(visible(toJson(value, 2)))
  }

  /** The outcome of a command: its document with --json, otherwise its text. */
  async answer(value: unknown, text: string): Promise<void> {
    if (this.json) await this.document(value)
    else this.print(text)
  }

  /**
   * What needs attention, one per line, when --quiet suppresses the rest: cron mails what a program prints, and a run
   * that fails silently would go unnoticed.
   */
  complain(lines: readonly string[]): void {
    if (!this.quiet) return
    for (const line of lines) this.#tell(`shopsync: ${line.replaceAll(/\s*\n\s*/g, ' ')}`)
  }

  /** A line on stderr that isn't a log entry. */
  note(text: string): void {
    if (!this.quiet) this.#tell(text)
  }

  /** A line on stderr about something that needs attention: --quiet doesn't suppress it, so cron mails it. */
  trouble(text: string): void {
    this.#tell(text)
  }

  /**
   * Errors are printed whatever the flags are, except for a lock that another run holds: with --quiet, the exit code is
   * enough. With --json, stdout also gets the error as its document, unless a program that stays up has already printed its own.
   */
  async error(error: unknown, exitCode: number): Promise<void> {
    if (!this.quiet || exitCode !== 4) this.#tell(`shopsync: ${describeError(error)}`)
    if (!this.json || this.#hasDocument) return
    const { message, hint = null, type = [] } = wordsOf(error)
    const lines = [...type, ...(this.options.typed?.(hint ?? '') ?? [])]
    await this.document({
      error: { message, hint, type: lines.length > 0 ? lines : undefined, exit_code: exitCode },
    })
  }

  /** An error that ended a part of the work; the other parts go on. Only faults of ours count. */
  survive(error: unknown): void {
    if (isExpected(error)) return
    this.isBroken = true
    if (error instanceof Error) this.note(`This should not have happened.\n${error.stack ?? ''}`)
  }

  #tell(text: string): void {
    const { stderr } = this.options
    this.around(() => stderr.write(`${this.#fitted(stderr, text)}\n`))
  }

  #fitted(stream: Writable, text: string): string {
    const { layOut } = this.options
    const terminal = paperOf(stream)
    const shown = harmless(terminal, shortRequests(text))
    return layOut ? layOut(terminal, shown) : shown
  }
}
