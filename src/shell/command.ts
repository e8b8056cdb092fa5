import type { CompiledQuery } from 'kysely'
import type { Logger } from 'pino'
import type { z } from 'zod'
import type { Int64 } from '../../schema/resource.js'
import type { Clock, Stamps } from '../engine/base/clock.js'
import type { Shard } from '../engine/base/shard.js'
import type { Config, LogLevel } from '../engine/config/config.js'
import type { Secret } from '../engine/config/secret.js'
import type { ConfigSection } from '../engine/config/section.js'
import type { SourceAddress } from '../engine/config/sourceaddress.js'
import type { ThenEntry } from '../engine/config/thensection.js'
import type { Model } from '../engine/model/resourcemodel.js'
import type { StateTables } from '../engine/model/statetable.js'
import type { ChooseRound } from '../engine/run/chosenround.js'
import type { BesideWork, Dependencies, Writing } from '../engine/run/runcontext.js'
import type { CursorChoice, Observer, RunReport } from '../engine/run/runreport.js'
import type { JobWork } from '../engine/run/steps.js'
import type { HasSiblings } from '../engine/source/rate/siblings.js'
import type { Source } from '../engine/source/source.js'
import type { RowSettings } from '../engine/warehouse/lease/oneconfiguration.js'
import type { Rules } from '../engine/warehouse/store/derived.js'
import type { Warehouse, Writer } from '../engine/warehouse/warehouse.js'
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

/** One call of a command: its arguments, and the means to print and to be stopped. */
export interface Invocation {
  /** All of the program's features, since some commands report on others. */
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
  /** The allowed words. */
  readonly choices?: readonly string[]
  /** What kind of name its words are, if that varies. */
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

/** What commands are for, as the help and docs/commands.md group them: the daily ones first. */
export const commandGroups = [
  'Get the data',
  'Watch it',
  'Compare with the source',
  'Keep it running',
  'Read the data',
  'Decide who sees what',
  'Set it up',
  'Move it',
  'Try it',
] as const

/**
 * One command: its texts and its work. Every start of the program loads the files of all commands, so they must not
 * import anything that is slow to load; `run` imports the rest when it is called.
 */
export interface Command {
  readonly name: string
  readonly group: (typeof commandGroups)[number]
  readonly summary: string
  /** What isn't obvious, in paragraphs. The help rewraps their lines. */
  readonly help?: string
  /** At least one: the line that people type, and what it does. */
  readonly examples: readonly Example[]
  readonly argument?: Argument
  readonly second?: Argument | undefined
  readonly options?: readonly Option[]
  /** It only reads, and shows the way out of a database that can't hold every character; others refuse that. */
  readonly readsAnyEncoding?: true
  /** Resolves to the exit code. */
  run(invocation: Invocation): Promise<number>
}

/** What a command works with: each part is opened on first use, and closed when the command ends. */
export interface CommandContext {
  readonly invocation: Invocation
  readonly config: Config
  readonly model: Model
  readonly log: Logger
  readonly clock: Clock
  /** Where the log goes. A progress display on the same terminal wraps it. */
  writeLog: (text: string) => void
  /** The tenants and resources that the flags choose, or else the configuration. */
  readonly choice: CursorChoice
  /** The part of the tenants that --shard names. */
  readonly shard: Shard | undefined
  /** Stops if --tenant names a forgotten tenant: commands that only read would find nothing about it. */
  refuseForgotten(): Promise<void>
  /** The same, and also if the warehouse doesn't know the tenant: an empty answer would look as if all were well. */
  refuseUnknown(): Promise<void>
  /** What shapes rows, and what the warehouse had of it when the configuration was read. */
  rowSettings(): Promise<RowSettings>
  /**
   * The warehouse. `read`: as it is; a missing one isn't created, and reads as empty. `there`: the same, to be written;
   * undefined if there is none. `write`: with its tables up to date, for commands that only change what exists; stops if
   * there is none. `create`: the same, and a missing one is made. The tables of another source's warehouse stay as they
   * are, unless the command takes it over. For a shard, they are brought up to date while no other is at work.
   */
  open(how: 'read'): Promise<Warehouse>
  open(how: 'there'): Promise<Writer | undefined>
  open(how: 'write' | 'create', opening?: ToWrite): Promise<Writer>
  /**
   * Everything that work on cursors needs. Without `stamps`, requests get stamps later than everything the warehouse
   * has seen. The source is a share of its own: the next step of a job must not count its requests.
   */
  dependencies<W extends Warehouse>(
    warehouse: W,
    how?: { readonly stamps?: Stamps; readonly observer?: Observer; readonly siblings?: HasSiblings },
  ): Promise<Dependencies<W>>
  /** The same source each time: only the first call says how it is made. */
  source(stamps: Stamps, how?: SourceUse): Promise<Source>
  /** The source, if anything has opened it. */
  readonly openedSource: Source | undefined
  /** Tells of an error that ended a part of the work while the rest goes on. One of ours makes the exit code 70. */
  survived(error: unknown, message: string, fields?: Record<string, unknown>): void
  /** Called when the command ends, before the warehouse is closed. */
  onClose(close: () => Promise<void>): void
}

/** How a warehouse is opened to be written. */
export interface ToWrite {
  /** The command takes over the warehouse of another source. */
  readonly takesOver?: boolean
  /** For commands that bring them up to date themselves; `create` then makes the folder of a SQLite file, too. */
  readonly tables?: 'as they are'
}

/** How the source is used. */
export interface SourceUse {
  /** The most attempts per request, if that is fewer than configured. */
  readonly most?: number | undefined
  /**
   * Whether other processes use the same rate limit for this warehouse, and the warehouse: they share its windows
   * (docs/scale.md). Default: a run that holds the whole warehouse has none.
   */
  readonly siblings?: HasSiblings | undefined
  readonly warehouse?: Warehouse | undefined
}

/** Settings that every step of a job may have. */
export interface StepSettings {
  readonly tenants: 'all' | readonly Int64[]
  readonly resources: 'all' | readonly string[]
  readonly full: boolean
  /** Only the cursors that are due by their targets, best first. */
  readonly due: boolean
}

/** The settings of a step, including those of its kind. */
export type JobStep = StepSettings & { readonly command: string }

/** A step's place in its job. */
export interface StepPlace {
  readonly job: string
  /** The next planned instants of the job, in ms since the epoch. Empty if it has no schedule. */
  readonly next: (after: number) => readonly number[]
  /** The steps before and after it. */
  readonly earlier: readonly JobStep[]
  readonly later: readonly JobStep[]
}

/** What a round is part of. */
export interface RoundPlace {
  /** The next planned instants of its job, in ms since the epoch. */
  readonly next?: ((after: number) => readonly number[]) | undefined
  /** Whether to leave requests for the checks of deletions that follow. */
  readonly isBeforeChecks?: boolean
  /** Whether a step before it polled, in the same round. */
  readonly isAfterPolls?: boolean
}

/** A setting that only one kind of step has. */
export interface StepSetting {
  readonly shape: z.ZodType
  /** What is expected if a step of another kind has it. */
  readonly elsewhere: string
  /** The setting that it follows in the reference; default: the one before it. */
  readonly after?: string
}

/** Prints the result of a step. */
export type TellStep = (report: RunReport, text: string) => void

/**
 * What a feature does as a step of a job. Its methods take the settings that it declares, in addition to those of every
 * step.
 */
export interface StepKind {
  /** Its name in a job's file, the same as on the command line. */
  readonly command: string
  /** What it does, for the reference. */
  readonly does: string
  readonly settings?: Readonly<Record<string, StepSetting>>
  /** Its steps may work on the cursors that are due. */
  readonly takesDue?: true
  /** A job with only such steps doesn't create a warehouse. */
  readonly onlyCompares?: true
  /** Its steps concern the whole warehouse: shards of a job leave them to `run JOB --whole`. */
  readonly isWhole?: true
  /** The first setting that doesn't fit, what is expected instead, and what to type unless it is the setting's example. */
  misfit?(step: StepSettings): readonly [setting: string, expected: string, hint?: string] | undefined
  /** Checks what can be checked. All steps of a job are prepared before the first of them writes anything. */
  prepare(context: CommandContext, step: StepSettings & StepPlace, tell: TellStep): Promise<JobWork> | JobWork
}

/** A small warehouse that a feature keeps beside the main one. */
export interface BesideWarehouse extends Writer {
  /** Deletes what names a tenant without a column of its own. */
  forgetting(tenantId: Int64): CompiledQuery[]
  /** It now belongs to another source. The records are the same ones, or different ones with the same ids. */
  adopting(to: SourceAddress, sameData: boolean): CompiledQuery[]
}

/** How it is opened, beside a main warehouse. */
export interface Besides {
  /** undefined if it was never made. */
  there(main: Pick<Warehouse, 'dialect'>): Promise<BesideWarehouse | undefined>
  /** Makes it if it is missing. */
  open(main: Pick<Warehouse, 'dialect'>): Promise<BesideWarehouse>
}

/**
 * What a folder in src/features adds to the program; src/main.ts lists them. Every start reads the list, so what a
 * member consists of is loaded on demand.
 */
export interface Feature {
  readonly command?: Command
  /** Its state tables: created, migrated, described, copied and erased together with those of the engine. */
  tables?(): Promise<StateTables>
  /** Its section of the configuration. */
  settings?(): Promise<ConfigSection>
  /** What it does as a step of a job. */
  step?(): Promise<StepKind>
  /**
   * What it makes from the tables once they are up to date, and once their rows have been recomputed. An obstacle is
   * reported and doesn't affect the command.
   */
  afterMigration?(context: CommandContext, warehouse: Writer): Promise<void>
  /** The current settings of derived tables, for all tenants or for one: for anything that is about to write. */
  readRules?(context: CommandContext, warehouse: Warehouse, tenantId?: Int64): Promise<Rules>
  /**
   * Its settings that determine what rows contain, by name: programs in which they differ must not write the same
   * warehouse at the same time.
   */
  shapesRows?(config: Config): Promise<Readonly<Record<string, unknown>>>
  /** Which fields make up the names of records, by resource; default: see schema/naming.ts. */
  names?(config: Config): Promise<Readonly<Record<string, readonly string[]>>>
  /** Updates what it keeps alongside the rows: when a run begins and when it ends. */
  besideRows?(run: Writing): Promise<void>
  /**
   * Cursors that become due while a run is at work, and what happens after their walks. undefined if no listener is
   * active.
   */
  besideWork?(context: CommandContext, warehouse: Warehouse): Promise<BesideWork | undefined>
  /** What it keeps of each poll that found something. undefined if it keeps nothing. */
  arrivals?(context: CommandContext, warehouse: Warehouse): Promise<Dependencies['arrived']>
  /** Which cursors a sync, or a check of deletions, with `due` works on, best first. Throws Stop without targets. */
  dueRound?(
    mode: 'sync' | 'reconcile',
    context: CommandContext,
    choice: CursorChoice,
    place?: RoundPlace,
  ): Promise<ChooseRound>
  /** In how many milliseconds a change to each resource must be in the warehouse; undefined without targets. */
  targetTimes?(config: Config): Promise<((resource: string, tenantId: Int64) => number) | undefined>
  /** Its warehouse beside the main one: erased, emptied and copied with it. */
  besides?(): Promise<Besides>
  /** What follows work that writes, unless a signal ended it. 1: it failed, and the command and later features say so. */
  afterWork?(context: CommandContext, ended: FinishedWork): Promise<void> | Promise<number>
  /** What a long-running program that receives events does once a minute, since no run may ever end there. */
  whileListening?(context: CommandContext): Promise<void>
}

/** The flag of every command that takes a choice of tenants. */
export const tenantOption: Option = {
  flags: '--tenant <id>',
  description: 'only this tenant; may be repeated',
  repeatable: true,
}

/** The flags of every command that takes a choice of tenants and resources. */
export const choiceOptions: readonly Option[] = [
  tenantOption,
  { flags: '--resource <name>', description: 'only this resource; may be repeated', repeatable: true },
]

/** The flag of every command that may be told to end early. */
export const timeLimitOption: Option = {
  flags: '--time-limit <duration>',
  description:
    'stop cleanly after this long, such as PT45M; the next run starts with what has waited longest',
}

/** The flag of every command that may do a part of the tenants. */
export const shardOption: Option = {
  flags: '--shard <i/n>',
  description:
    'only the tenants of this shard, such as 0/8: one of several runs on as many machines (docs/scale.md)',
}

/** The identity of a piece of work, for features that are told its result. */
export interface WorkName {
  readonly job: string | null
  /** Whether the warehouse has a record of it as a run. */
  readonly onRecord: boolean
  /** The job's own, in addition to the configuration's. */
  readonly heartbeat?: Secret | undefined
  /** A shard's run judges its own tenants only, and calls no heartbeat: it can't know how the others end. */
  readonly shard?: Shard | undefined
  /** It does what the shards of a job leave out, and hears of no tenant. */
  readonly isWhole?: boolean
  /** The exit code that heartbeats are told instead; null: they aren't called. */
  readonly beats?: (exitCode: number) => number | null
  /** The job's own `then`, instead of the configuration's. */
  readonly following?: readonly ThenEntry[] | undefined
}

/** A piece of work that has ended. */
export interface FinishedWork extends WorkName {
  readonly startedAt: string
  /** The reports of its parts, if they finished. */
  readonly reports: readonly RunReport[]
  readonly exitCode: number
  /** What it threw. */
  readonly error?: unknown
}
