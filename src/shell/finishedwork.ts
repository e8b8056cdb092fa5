/* A piece of work that has ended, as the features that do what follows it are told. */
import type { Shard } from '../engine/base/shard.js'
import type { Secret } from '../engine/config/secret.js'
import type { ThenEntry } from '../engine/config/thensection.js'
import type { RunReport } from '../engine/run/runreport.js'

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
