import type { LogLevel } from '../config/config.js'
import type { Output } from './output.js'
import type { Signals } from './signals.js'

/** Flags that every command knows. */
export interface Globals {
  readonly config: string | undefined
  readonly json: boolean
  readonly quiet: boolean
  readonly logLevel: LogLevel | undefined
}

/** One call of a command, as its words came from the command line. */
export interface Invocation {
  readonly command: string
  readonly globals: Globals
  readonly argument: string | undefined
  /** A second word, of commands that take two. */
  readonly second: string | undefined
  readonly options: Readonly<Record<string, unknown>>
  readonly out: Output
  readonly signals: Signals
}

export interface Argument {
  readonly name: string
  readonly description: string
  readonly isOptional?: boolean
}

export interface Option {
  /** In commander's notation, such as `--tenant <id>`. */
  readonly flags: string
  readonly description: string
  /** May be given several times; its value is a list then. */
  readonly repeatable?: boolean
  readonly choices?: readonly string[]
}

/**
 * One command: its words, and what it does. These files are read whenever the program starts, so they import nothing
 * that is slow to load; `run` imports what it needs when it is called.
 */
export interface Command {
  readonly name: string
  readonly summary: string
  /** Below the summary in its own help: examples, and what is not obvious. */
  readonly help?: string
  readonly argument?: Argument
  readonly second?: Argument
  readonly options?: readonly Option[]
  /** Resolves to the exit code. */
  run(invocation: Invocation): Promise<number>
}

/** Choice of tenants and resources, the same wherever there is one. */
export const choiceOptions: readonly Option[] = [
  { flags: '--tenant <id>', description: 'only this tenant; may be repeated', repeatable: true },
  { flags: '--resource <name>', description: 'only this resource; may be repeated', repeatable: true },
]
