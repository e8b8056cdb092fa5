/* What a run is given by the command line, and what it has once it holds the lease. */
import type { Int64 } from '../../../schema/resource.js'
import type { Shard } from '../base/shard.js'
import type { Config } from '../config/config.js'
import type { Warehouse, Writer } from '../warehouse/warehouse.js'
import type { CursorHands } from './cursorhands.js'
import type { Mode } from './runreport.js'
import type { AfterWalk, CursorRun, Run } from './tenant.js'

/** What a run is given: not what it finds out by itself. */
export interface Dependencies<W extends Warehouse = Writer>
  extends Omit<
    Run<W>,
    'cursors' | 'lateness' | 'stats' | 'authorizations' | 'learnZones' | 'hands' | 'beforeWalk' | 'config'
  > {
  readonly config: Pick<Config, 'sync'> & Run['config']
  /**
   * Updates what is kept alongside the rows, when a run begins and when it ends: the days of the shops, and the names
   * people use (src/features/analytics). Without it, a run leaves that unchanged.
   */
  readonly besideRows?: (run: Writing) => Promise<void>
  /** Creates what had to wait until rows were recomputed, such as views that read new columns of them. */
  readonly afterRecompute?: (() => Promise<void>) | undefined
  /** Cursors that become due during the run (src/features/events). Absent if no listener is active. */
  readonly beside?: BesideWork | undefined
  /** How long the lease lasts without being renewed, in milliseconds; default 60,000. */
  readonly leaseMs?: number
  /** The signal may fire because time is up: the cursors that have waited longest come first. */
  readonly timeLimited?: boolean
  /** When it fires for that reason, in ms since the epoch. */
  readonly endsAt?: number | undefined
  /** The part of the tenants that it works on, beside runs of the other parts. undefined: the whole warehouse. */
  readonly shard?: Shard | undefined
  /** The instant for which a schedule started it. undefined if nobody planned it. */
  readonly plannedAt?: string | undefined
}

/** A run that writes, under its lease. */
export interface Writing extends Dependencies {
  readonly runId: string
}

/** A run that writes, and knows what there is to work on. */
export type WritingRun = Writing & Run

export interface PlannedWork {
  readonly mode: Mode
  readonly hands: CursorHands
  /** In a round: in how many ms a change to this list must be in the warehouse. */
  readonly targetOf: ((resource: string, tenantId: Int64) => number) | undefined
}

/**
 * Work alongside the plan of a run: cursors that become due while the run holds the lease. A feature passes it to the
 * run (src/features/events); this is all the run knows about it.
 */
export interface BesideWork {
  /** See `Run.beforeWalk`. */
  beforeWalk(cursor: CursorRun): Promise<AfterWalk | undefined>
  /** Continues alongside the planned work until it is disposed of, which first finishes the work in progress. */
  during(run: WritingRun, planned: PlannedWork): AsyncDisposable
}
