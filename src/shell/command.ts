import type { Logger } from 'pino'
import type { z } from 'zod'
import type { Int64 } from '../../schema/resource.js'
import type { Clock, Stamps } from '../engine/base/clock.js'
import type { Config, LogLevel } from '../engine/config/config.js'
import type { Secret } from '../engine/config/secret.js'
import type { ConfigSection } from '../engine/config/section.js'
import type { SourceAddress } from '../engine/config/sourceaddress.js'
import type { Model } from '../engine/model/resourcemodel.js'
import type { StateTables } from '../engine/model/statetable.js'
import type { BesideWork, Dependencies, Writing } from '../engine/run/runcontext.js'
import type { CursorChoice, Observer, RunReport } from '../engine/run/runreport.js'
import type { JobWork } from '../engine/run/steps.js'
import type { Source } from '../engine/source/source.js'
import type { Rules } from '../engine/warehouse/derived.js'
import type { Warehouse } from '../engine/warehouse/warehouse.js'
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

/** What a command works with: each part is opened when it is first asked for, and closed when the command ends. */
export interface CommandContext {
  readonly invocation: Invocation
  readonly config: Config
  readonly model: Model
  readonly log: Logger
  readonly clock: Clock
  /** Where the log goes; a progress display on the same terminal puts itself around it. */
  writeLog: (text: string) => void
  /** The tenants and resources that the flags choose, else the configuration. */
  readonly choice: CursorChoice
  /** Stops where --tenant names a tenant that was forgotten: commands that only read would find nothing of it. */
  refuseForgotten(): Promise<void>
  /** The same, and where the warehouse knows no such tenant: an empty answer would look as if all were well. */
  refuseUnknown(): Promise<void>
  /** The warehouse as it is: for migrate, and for commands that write. */
  warehouse(): Promise<Warehouse>
  /** The warehouse, where there is one: nothing is made. */
  warehouseThere(): Promise<Warehouse | undefined>
  /** The warehouse for commands that only read: one that is not there is not made, and reads as an empty one. */
  readingWarehouse(): Promise<Warehouse>
  /** The warehouse with its tables up to date: for every command that writes. */
  readyWarehouse(): Promise<Warehouse>
  /** As `readyWarehouse`, for commands that change only what is there: where nothing is, nothing is made. */
  existingWarehouse(): Promise<Warehouse>
  /**
   * Everything that work on cursors takes. Without `stamps`, requests get stamps that lie after everything the
   * warehouse has seen. The share of the source is the work's own: the next step of a job must not count its requests.
   */
  dependencies(
    warehouse: Warehouse,
    how?: { readonly stamps?: Stamps; readonly observer?: Observer },
  ): Promise<Dependencies>
  source(stamps: Stamps, attempts?: number): Promise<Source>
  /** Called when the command ends, before the warehouse is closed. */
  onClose(close: () => Promise<void>): void
}

/** What a piece of work is called, for those who are told what came of it. */
export interface WorkName {
  readonly job: string | null
  /** Whether the warehouse has a record of it as a run. */
  readonly onRecord: boolean
  /** The job's own, beside that of the configuration. */
  readonly heartbeat?: Secret | undefined
}

/** A piece of work that has ended. */
export interface FinishedWork extends WorkName {
  readonly startedAt: string
  /** Of its parts, as far as they came to their ends. */
  readonly reports: readonly RunReport[]
  readonly exitCode: number
  /** What it threw. */
  readonly error?: unknown
}

/** What every step of a job may say. */
export interface StepSettings {
  readonly tenants: 'all' | readonly Int64[]
  readonly resources: 'all' | readonly string[]
  readonly full: boolean
  /** Only the cursors that are due by their targets, best first. */
  readonly due: boolean
}

/** Where in a job a step stands. */
export interface StepPlace {
  readonly job: string
  /** The next planned instants of the job, in ms since the epoch; none where it has no schedule. */
  readonly next: (after: number) => readonly number[]
  /** The steps behind it. */
  readonly later: readonly (StepSettings & { readonly command: string })[]
}

/** A setting that steps of one kind alone have. */
export interface StepSetting {
  readonly shape: z.ZodType
  /** What is expected where a step of another kind has it. */
  readonly elsewhere: string
  /** The setting that it follows in the reference; default: the one before it. */
  readonly after?: string
}

/** Prints what came of a step. */
export type TellStep = (report: RunReport, text: string) => void

/** What a feature does as a step of a job. Its methods take the settings that it declares beside those of every step. */
export interface StepKind {
  /** How a job's file names it: as the command line does. */
  readonly command: string
  /** What it does, for the reference. */
  readonly does: string
  readonly settings?: Readonly<Record<string, StepSetting>>
  /** Its steps may work on the cursors that are due. */
  readonly takesDue?: true
  /** A job of such steps alone makes no warehouse. */
  readonly onlyCompares?: true
  /** The first setting that does not fit, and what is expected of it. */
  misfit?(step: StepSettings): readonly [setting: string, expected: string] | undefined
  /** Checks what can be checked: all steps of a job are prepared before the first of them writes anything. */
  prepare(context: CommandContext, step: StepSettings & StepPlace, tell: TellStep): Promise<JobWork> | JobWork
}

/** Rows of a tenant that were erased; `left`: why traces remain in the database's files, null where none do. */
export interface ErasedBeside {
  readonly table: string
  readonly rows: number
  readonly left: string | null
}

/** A table that was copied, and compared. `digest`: SHA-256 of its rows. */
export interface CopiedBeside {
  readonly table: string
  readonly rows: number
  readonly digest: string
}

type Opened = Pick<Warehouse, 'dialect'>

/** Tables that a feature keeps beside those of the warehouse, where it has made them. */
export interface BesideTables {
  readonly names: readonly string[]
  eraseTenant(warehouse: Opened, tenantId: Int64): Promise<ErasedBeside | undefined>
  /** The warehouse belongs to another source from now on; its records are the same, or others by the same ids. */
  adopt(warehouse: Opened, to: SourceAddress, sameData: boolean): Promise<void>
  copy(from: Opened, to: Opened): Promise<readonly CopiedBeside[]>
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
  /** What it does as a step of a job. */
  step?(): Promise<StepKind>
  /** What it makes of the tables once they are up to date, and once their rows are computed again; what is in its way is said, and takes nothing from the command. */
  afterMigration?(context: CommandContext, warehouse: Warehouse): Promise<void>
  /** The settings of derived tables as they are now, of all tenants or of one: for whoever begins to write. */
  readRules?(context: CommandContext, warehouse: Warehouse, tenantId?: Int64): Promise<Rules>
  /** Brings up to date what it keeps beside the rows: when a run begins, and when it ends. */
  besideRows?(run: Writing): Promise<void>
  /** Cursors that become due while a run is at work, and what their walks settle; undefined where nobody listens. */
  besideWork?(context: CommandContext, warehouse: Warehouse): Promise<BesideWork | undefined>
  /** What it keeps of each poll that found something; undefined where it keeps nothing. */
  arrivals?(context: CommandContext, warehouse: Warehouse): Promise<Dependencies['arrived']>
  /** Its tables beside those of the warehouse: erased, emptied and copied with them. */
  besideTables?(): Promise<BesideTables>
  /** What follows on work that writes, unless a signal has ended it: people are told, files are written. */
  afterWork?(context: CommandContext, ended: FinishedWork): Promise<void>
  /** What a program does once a minute that stays up and hears the source: no work of a run need ever end there. */
  whileListening?(context: CommandContext): Promise<void>
}

/** The commands of the features, in their order. */
export const commandsOf = (features: readonly Feature[]): Command[] =>
  features.flatMap(({ command }) => command ?? [])

/** The sections of the configuration that the features declare. */
export const sectionsOf = (features: readonly Feature[]): Promise<ConfigSection[]> =>
  Promise.all(features.flatMap(({ settings }) => settings?.() ?? []))

/** The steps that jobs may have. */
export const stepsOf = (features: readonly Feature[]): Promise<StepKind[]> =>
  Promise.all(features.flatMap(({ step }) => step?.() ?? []))

/** The state tables of the features. */
export const stateTablesOf = (features: readonly Feature[]): Promise<StateTables[]> =>
  Promise.all(features.flatMap(({ tables }) => tables?.() ?? []))

/** The tables that features keep beside those of the warehouse. */
export const besideTablesOf = (features: readonly Feature[]): Promise<BesideTables[]> =>
  Promise.all(features.flatMap(({ besideTables }) => besideTables?.() ?? []))

/** The flags of every command that takes a choice of tenants and resources. */
export const choiceOptions: readonly Option[] = [
  { flags: '--tenant <id>', description: 'only this tenant; may be repeated', repeatable: true },
  { flags: '--resource <name>', description: 'only this resource; may be repeated', repeatable: true },
]

/** The flag of every command that may be told to end early. */
export const timeLimitOption: Option = {
  flags: '--time-limit <duration>',
  description:
    'stop cleanly after this long, such as PT45M; the next run starts with what has waited longest',
}
