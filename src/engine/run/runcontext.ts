/*
 * What a run is given by the command line, and what it is once it has the lease.
 */
import type { Config } from '../config/config.js'
import type { LeasedWarehouse } from '../warehouse/leasedwarehouse.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import type { ReadingWarehouse } from '../warehouse/writer.js'
import type { CursorHands } from './cursorhands.js'
import type { Mode } from './runreport.js'
import type { AfterWalk, CursorRun, Run } from './tenant.js'

/** What a run finds out by itself. */
type FoundOut = 'cursors' | 'lateness' | 'stats' | 'authorizations' | 'learnZones' | 'hands' | 'beforeWalk'

/** What a run is given. `W`: the warehouse as it may use it. */
export interface Dependencies<W extends ReadingWarehouse = Warehouse>
  extends Omit<Run<W>, FoundOut | 'config'> {
  readonly config: Pick<Config, 'sync'> & Run['config']
  /**
   * Brings up to date what is kept beside the rows, when a run begins and when it ends: what days the shops have, and what
   * people call things (src/features/analytics). Without it a run leaves that as it is.
   */
  readonly besideRows?: (run: Writing) => Promise<void>
  /** Makes what waited until rows were computed again, such as views that read new columns of them. */
  readonly afterRecompute?: () => Promise<void>
  /** Cursors that become due while the run is under way (src/features/events). Absent where nobody listens. */
  readonly beside?: BesideWork | undefined
  /** How long the lease lasts without a sign of life, in milliseconds; default 60,000. */
  readonly leaseMs?: number
  /** The signal may fire because time is over: the cursors that have waited longest come first. */
  readonly timeLimited?: boolean
  /** When it fires for that, in ms since the epoch. */
  readonly endsAt?: number
}

/** A run that writes, under its lease. */
export interface Writing extends Dependencies<LeasedWarehouse> {
  readonly runId: string
}

/** A run that reads, and knows what there is to work on. */
export type ReadingRun<W extends ReadingWarehouse = ReadingWarehouse> = Dependencies<W> & Run<W>

/** A run that writes, and knows what there is to work on. */
export type WritingRun = Writing & Run<LeasedWarehouse>

/** What a run is about to do. */
export interface PlannedWork {
  readonly mode: Mode
  readonly hands: CursorHands
}

/**
 * Work that comes beside the plan of a run: cursors that become due while the run holds the lease. A feature hands it to
 * the run (src/features/events); the run knows no more of it than this.
 */
export interface BesideWork {
  /** See `Run.beforeWalk`. */
  beforeWalk(cursor: CursorRun<LeasedWarehouse>): Promise<AfterWalk | undefined>
  /** Goes on beside the planned work until it is disposed of; then what is in hand is ended first. */
  during(run: WritingRun, planned: PlannedWork): AsyncDisposable
}
