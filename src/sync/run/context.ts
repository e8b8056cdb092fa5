import { randomBytes } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import type { Source } from '../../api/source.js'
import type { Clock, Stamps } from '../../clock.js'
import type { Config } from '../../config/config.js'
import type { Model } from '../../model/registry.js'
import { fromMicros } from '../../timestamp.js'
import type { CursorState } from '../../warehouse/cursors.js'
import type { Warehouse } from '../../warehouse/warehouse.js'
import type { Observer } from './report.js'

/** What a run is given. */
export interface Dependencies {
  readonly config: Pick<Config, 'sync'> & { readonly reconcile?: { readonly maxDeletes: number } }
  readonly model: Model
  readonly warehouse: Warehouse
  readonly source: Source
  readonly clock: Clock
  readonly stamps: Stamps
  readonly observer: Observer
  /** Pages of one walk that may be under way at once, where latency holds it back; default 16. */
  readonly readAhead?: number
  /** Page sizes of a walk's passes; default: those of walk.ts. */
  readonly pageSizes?: readonly number[]
  /** Where a comparison places its cut points; default: by chance. */
  readonly random?: () => number
  /** How long the run's lease lasts without a sign of life, in milliseconds; default 60,000. */
  readonly leaseMs?: number
  /** Fires when the run is to end: what is in hand is committed, nothing new is begun. */
  readonly signal: AbortSignal
}

/** What work on a cursor needs, whether it writes or not. */
export interface CursorContext extends Dependencies {
  /** Every cursor's state at the start of the run, by `cursorName`. */
  readonly cursors: ReadonlyMap<string, CursorState>
  /** Values, items and records that went to quarantine so far. */
  readonly counted: { quarantined: number }
  /** Whether a tenant is granted still; asks the API once per tenant and run. */
  isGranted(tenantId: Int64): Promise<boolean>
}

/** A run under way. */
export interface RunContext extends CursorContext {
  readonly runId: string
  /** The lease's token. */
  readonly fence: Int64
}

export const now = (context: { clock: Clock }): string => fromMicros(context.clock.nowMicros())

/** Sortable by time, and unique: `20260102T030405-1f2e3d`. */
export const newRunId = (context: { clock: Clock }): string =>
  `${now(context).slice(0, 19).replace(/[-:]/g, '')}-${randomBytes(3).toString('hex')}`
