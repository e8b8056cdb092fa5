import type { Writable } from 'node:stream'
import { Stop } from '../errors.js'

export interface OutputOptions {
  readonly json: boolean
  readonly quiet: boolean
  readonly stdout: Writable
  readonly stderr: Writable
}

/** What the program says. With --json, stdout carries one JSON document and nothing else. */
export class Output {
  readonly json: boolean
  readonly quiet: boolean
  readonly #stdout: Writable
  readonly #stderr: Writable

  constructor(options: OutputOptions) {
    this.json = options.json
    this.quiet = options.quiet
    this.#stdout = options.stdout
    this.#stderr = options.stderr
  }

  /** Text for people: not with --json, not with --quiet. */
  print(text: string): void {
    if (!this.json && !this.quiet) this.result(text)
  }

  /** What was asked for, such as a dictionary: --quiet does not silence it. */
  result(text: string): void {
    this.#stdout.write(text.endsWith('\n') ? text : `${text}\n`)
  }

  /** The one document of --json. */
  async document(value: unknown): Promise<void> {
    const { toJson } = await import('../config/json.js')
    this.result(toJson(value, 2))
  }

  /** A word on stderr that is no log entry. */
  note(text: string): void {
    if (!this.quiet) this.#stderr.write(`${text}\n`)
  }

  /** Errors are not silenced by anything; with --json, stdout gets them as its document as well. */
  async error(error: unknown, exitCode: number): Promise<void> {
    const text = error instanceof Error ? error.message : String(error)
    this.#stderr.write(`shopsync: ${text}\n`)
    if (!this.json) return
    const hint = hintOf(error)
    const message = hint && text.endsWith(`. ${hint}`) ? text.slice(0, -hint.length - 2) : text
    await this.document({ error: { message, hint: hint ?? null, exit_code: exitCode } })
  }
}

const hintOf = (error: unknown): string | undefined =>
  error instanceof Stop ? error.details.hint : undefined
