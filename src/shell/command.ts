import type { LogLevel } from '../engine/config/config.js'
import type { ConfigSection } from '../engine/config/section.js'
import type { StateTables } from '../engine/model/statetable.js'
import type { Writing } from '../engine/run/runcontext.js'
import type { Io } from './io.js'
import type { Output } from './output.js'
import type { SignalDesk } from './signals.js'

/** Flags that every command has. */
export interface Globals {
  readonly config: string | undefined
  readonly envFile: string | undefined
  readonly json: boolean
  readonly quiet: boolean
  readonly logLevel: LogLevel | undefined
}

/** One call of a command: its words from the command line, and the ways to print and to be stopped. */
export interface Invocation {
  /** All of the program's: some commands tell of the others. */
  readonly features: readonly Feature[]
  readonly command: string
  readonly globals: Globals
  readonly argument: string | undefined
  /** The second word of commands that take two. */
  readonly second: string | undefined
  readonly options: Readonly<Record<string, unknown>>
  readonly out: Output
  readonly signals: SignalDesk
  readonly io: Io
}

export interface Argument {
  readonly name: string
  readonly description: string
  readonly isOptional?: boolean
  /** The words that it may be. */
  readonly choices?: readonly string[]
  /** What its words name, where these are not the same everywhere. */
  readonly names?: 'jobs' | 'tables'
}

export interface Option {
  /** In commander's notation, such as `--tenant <id>`. */
  readonly flags: string
  readonly description: string
  /** The flag may be given several times; its value is a list. */
  readonly repeatable?: boolean
  readonly choices?: readonly string[]
}

export type Example = readonly [line: string, says: string]

/**
 * One command: its words and its work. Every start of the program reads the files of all commands, so that they import
 * nothing that is slow to load; `run` imports the rest when it is called.
 */
export interface Command {
  readonly name: string
  readonly summary: string
  /** What is not obvious, in paragraphs; the help breaks their lines anew. */
  readonly help?: string
  /** At least one: the line as people type it, and what it does. */
  readonly examples: readonly Example[]
  readonly argument?: Argument
  readonly second?: Argument
  readonly options?: readonly Option[]
  /** Resolves to the exit code. */
  run(invocation: Invocation): Promise<number>
}

/**
 * What a folder of src/features adds to the program; src/main.ts lists them. Every start reads the list: what a member is
 * made of is loaded when it is asked for.
 */
export interface Feature {
  readonly command?: Command
  /** Its state tables: made and migrated, described, copied and erased with those of the engine. */
  tables?(): Promise<StateTables>
  /** Its section of the configuration. */
  settings?(): Promise<ConfigSection>
  /** Brings up to date what it keeps beside the rows: when a run begins, and when it ends. */
  besideRows?(run: Writing): Promise<void>
}

/** The commands of the features, in their order. */
export const commandsOf = (features: readonly Feature[]): Command[] =>
  features.flatMap(({ command }) => command ?? [])

/** The sections of the configuration that the features declare. */
export const sectionsOf = (features: readonly Feature[]): Promise<ConfigSection[]> =>
  Promise.all(features.flatMap(({ settings }) => settings?.() ?? []))

/** The state tables of the features. */
export const stateTablesOf = (features: readonly Feature[]): Promise<StateTables[]> =>
  Promise.all(features.flatMap(({ tables }) => tables?.() ?? []))

/** The flags of every command that takes a choice of tenants and resources. */
export const choiceOptions: readonly Option[] = [
  { flags: '--tenant <id>', description: 'only this tenant; may be repeated', repeatable: true },
  { flags: '--resource <name>', description: 'only this resource; may be repeated', repeatable: true },
]

/** The flag of every command that may be told to end early. */
export const timeLimitOption: Option = {
  flags: '--time-limit <duration>',
  description: 'end cleanly after so long, such as PT45M; the next run goes on with what has waited longest',
}
