/*
 * What a run and its parts are given: the dependencies, the cursors' state, the lease. Everything in the sync takes one
 * of these contexts, or a part of it.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Clock, Stamps } from '../base/clock.js'
import { Bug } from '../base/errors.js'
import { fromMicros } from '../base/timestamp.js'
import type { Config } from '../config/config.js'
import type { WithSections } from '../config/section.js'
import type { Model, ResourceModel } from '../model/registry.js'
import type { Table } from '../model/table.js'
import type { Source } from '../source/source.js'
import { type CursorKey, type CursorState, cursorColumns, cursorName } from '../warehouse/cursors.js'
import type { LeasedWarehouse } from '../warehouse/leasedwarehouse.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import type { ReadingWarehouse } from '../warehouse/writer.js'
import type { ResourceLateness } from './lateness.js'
import type { Note, Observer } from './runreport.js'
import type { RunTally } from './runstats.js'

/** What a run is given. `W`: the warehouse as it may use it. */
export interface Dependencies<W extends ReadingWarehouse = Warehouse> {
  readonly config: Pick<Config, 'sync'> &
    WithSections & {
      /** In milliseconds; default 90 days. */
      readonly history?: { readonly keep: number }
    }
  /**
   * Brings up to date what is kept beside the rows, when a run begins and when it ends: what days the shops have, and what
   * people call things (src/features/analytics). Without it a run leaves that as it is.
   */
  readonly besideRows?: (run: Writing) => Promise<void>
  readonly model: Model
  readonly warehouse: W
  readonly source: Source
  readonly clock: Clock
  readonly stamps: Stamps
  readonly observer: Observer
  /** Pages of one walk that may be under way at once, where latency holds the walk back; default 16. */
  readonly readAhead?: number
  /** Page sizes of a walk's passes; default: those of walk.ts. */
  readonly pageSizes?: readonly number[]
  /** Milliseconds between two answers by id that have to agree: see reconcile/sourceregression.ts. */
  readonly answersApartMs?: number
  /** Where a comparison places its cut points; default: by chance. */
  readonly random?: () => number
  /** How long the lease lasts without a sign of life, in milliseconds; default 60,000. */
  readonly leaseMs?: number
  /** Fires when the run is to end: what is in hand is committed, nothing new is begun. */
  readonly signal: AbortSignal
  /** The signal may fire because time is over: the cursors that have waited longest come first. */
  readonly timeLimited?: boolean
}

/** What work on a cursor needs, whether it writes or not. */
export interface CursorContext extends Dependencies<ReadingWarehouse> {
  /** Every cursor's state at the start of the run, by `cursorName`. */
  readonly cursors: ReadonlyMap<string, CursorState>
  /** How late records became visible in the last 30 days, by resource. */
  readonly lateness: ReadonlyMap<string, ResourceLateness>
  /** What the run has counted so far. */
  readonly counted: RunTally
  /** Whether tenants are granted still: asks the API again, where a 404 casts doubt on them. */
  readonly grants: { standingOf(tenantIds: readonly Int64[]): Promise<readonly GrantStanding[]> }
}

/** `missing`: the list of authorizations does not show the tenant, and is shorter than its total. */
export type GrantStanding = 'granted' | 'revoked' | 'missing'

/** What a run that writes is given, and the lease that it holds. */
export interface Writing extends Dependencies<LeasedWarehouse> {
  readonly runId: string
  /** Fires when the run is to end, or has lost the lease. */
  readonly signal: AbortSignal
}

/** A run under way. */
export interface RunContext extends CursorContext, Writing {
  readonly warehouse: LeasedWarehouse
}

/** One cursor, as the work on it takes it. */
export interface CursorTask {
  readonly tenantId: Int64
  readonly resource: ResourceModel
}

export const keyOf = ({ tenantId, resource }: CursorTask): CursorKey => ({
  tenantId,
  resource: resource.name,
})

export const stateOf = (
  { cursors }: Pick<CursorContext, 'cursors'>,
  task: CursorTask,
): CursorState | undefined => cursors.get(cursorName(keyOf(task)))

/** Tells of events of one cursor. */
export function noteOf({ observer }: Pick<Dependencies, 'observer'>, key: CursorKey): Note {
  return (message, fields) => observer.notice?.(message, { ...cursorColumns(key), ...fields })
}

/** Tells people of what somebody should act on in one cursor. */
export function warningOf({ observer }: Pick<Dependencies, 'observer'>, key: CursorKey): Note {
  return (message, fields) => observer.warning?.(message, { ...cursorColumns(key), ...fields })
}

/** The table that holds one row a record. */
export function rootOf({ name, tables: [root] }: ResourceModel): Table {
  if (!root) throw new Bug(`${name} has no table`)
  return root
}

export const now = (context: { clock: Clock }): string => fromMicros(context.clock.nowMicros())
