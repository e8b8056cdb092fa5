/*
 * The work on one tenant within a run. Cursors only depend on other cursors of the same tenant: a first load of orders
 * waits for the time zones of their shops, all cursors lose the same grant, and records of one list move rows of another.
 * All of that is kept here, and the first cursor of the tenant that is worked on opens it. A run schedules cursors rather
 * than tenants, so a large tenant doesn't hold up the small ones, and all it takes to schedule work is to know that a
 * cursor is due.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Clock, Stamps } from '../base/clock.js'
import { Bug } from '../base/errors.js'
import { fromMicros } from '../base/timestamp.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import type { Table } from '../model/table.js'
import type { Source } from '../source/source.js'
import { type Cursor, type CursorKey, cursorColumns, cursorName } from '../warehouse/state/cursors.js'
import type { Warehouse, Writer } from '../warehouse/warehouse.js'
import type { CursorHands } from './cursorhands.js'
import type { ResourceLateness } from './lateness.js'
import type { Arrivals } from './polls.js'
import type { Note, Observer } from './runreport.js'
import type { RunStats, TenantStats } from './runstats.js'
import { isFirstLoad, saysZones, Zones } from './zonesfirst.js'

/** `missing`: the list of authorizations doesn't show the tenant, and is shorter than its total. */
export type TenantAccess = 'granted' | 'revoked' | 'missing'

/** What the work on cursors needs from the run. `Run<Warehouse>`: a run that only reads. */
export interface Run<W extends Warehouse = Writer> {
  readonly config: {
    readonly sync: {
      /** In milliseconds. */
      readonly overlap: number | 'auto'
      /** Cursors that are worked on at the same time. */
      readonly concurrency: number
    }
    /** The parsed sections of the features, by name. */
    readonly sections?: Readonly<Record<string, unknown>>
    /** In milliseconds; default 90 days. */
    readonly history?: { readonly keep: number }
  }
  readonly warehouse: W
  readonly source: Source
  readonly clock: Clock
  readonly stamps: Stamps
  readonly observer: Observer
  /** Fires when the run should end or has lost the lease: work in progress is committed, and nothing new starts. */
  readonly signal: AbortSignal
  /** How many pages of one walk may be under way at the same time if latency slows the walk down; default 16. */
  readonly readAhead?: number
  /** Page sizes of a walk's readings; default: those of pagesize.ts. */
  readonly pageSizes?: readonly number[] | undefined
  /** Milliseconds between two responses by id that have to agree: see sourceregression.ts. */
  readonly answersApartMs?: number
  /** Where a comparison places its cut points; default: randomly. */
  readonly random?: () => number
  /** Every cursor's state at the start of the run, by `cursorName`. The run forgets it when its work has ended well. */
  readonly cursors: Map<string, Cursor>
  /** How late records became visible in the last 30 days, by resource. */
  readonly lateness: ReadonlyMap<string, ResourceLateness>
  /** What the run has counted so far. */
  readonly stats: RunStats
  /** Whether tenants are still granted: queries the API again if a 404 casts doubt on them. */
  readonly authorizations: { accessOf(tenantIds: readonly Int64[]): Promise<readonly TenantAccess[]> }
  /** Which cursors are in progress. Absent if nothing runs alongside the plan. */
  readonly hands?: CursorHands | undefined
  /**
   * Called before the first request of each walk, to see what waits for the cursor. Resolves to what should happen once
   * the walk may move the watermark; undefined if nothing waits. `floor`: where the walk began.
   */
  readonly beforeWalk?: ((cursor: CursorRun) => Promise<AfterWalk | undefined>) | undefined
  /** Called with what a poll found. What should be kept of it commits with the cursor. Absent if nothing needs it. */
  readonly arrived?: ((cursor: CursorRun, arrivals: Arrivals) => Promise<Arrived>) | undefined
  /** Learns the time zones of a tenant's shops once they are stored. Absent if no rows follow from them. */
  readonly learnZones?: ((tenantId: Int64) => Promise<void>) | undefined
}

/** See `Run.arrived`. `unannounced`: the part of its news that no event announced. */
export interface Arrived {
  readonly unannounced: number
  readonly statements: readonly CompiledQuery[]
}

/** See `Run.beforeWalk`. `floor`: where the walk began. */
export type AfterWalk = (floor: string) => Promise<void>

export class TenantRuns<W extends Warehouse = Writer> {
  readonly #open = new Map<Int64, TenantRun<W>>()

  constructor(private readonly run: Run<W>) {}

  /** Opened by the first of its cursors. */
  of(tenantId: Int64): TenantRun<W> {
    const tenant = this.#open.get(tenantId) ?? new TenantRun(this.run, tenantId)
    this.#open.set(tenantId, tenant)
    return tenant
  }
}

/** The work on one tenant: what its cursors share. */
export class TenantRun<W extends Warehouse = Writer> {
  readonly stats: TenantStats
  /** The tenant was found to be revoked during the run; none of its cursors is requested any more. */
  isRevoked = false
  readonly #zones: Zones

  constructor(
    readonly run: Run<W>,
    readonly id: Int64,
  ) {
    this.stats = run.stats.ofTenant()
    this.#zones = new Zones(run, id)
  }

  /** One of its cursors. The source counts only this cursor's requests. */
  cursor(resource: ResourceModel): CursorRun<W> {
    return new CursorRun(this, resource, this.run.source.tagged())
  }

  /**
   * Whether rows follow from a cursor's records, and would get wrong days while the time zones of the tenant's shops are
   * unknown.
   */
  waitsForZones({ resource, state }: CursorRun<Warehouse>): boolean {
    return this.run.learnZones !== undefined && !saysZones(resource) && isFirstLoad(resource, state)
  }

  /** Resolves when the time zones of its shops are known, or the wait is over. Resolves immediately if no shops are read. */
  zonesKnown(): Promise<void> {
    return this.#zones.known()
  }

  /** Registers the started work on a cursor: others wait for the work on the list of shops. */
  begun<T>({ resource }: CursorRun<Warehouse>, work: Promise<T>): Promise<T> {
    return saysZones(resource) ? this.#zones.read(work) : work
  }
}

/** The work on one cursor: a list of one tenant. */
export class CursorRun<W extends Warehouse = Writer> {
  readonly key: CursorKey
  /** Its state when the run began. undefined if no run has worked on it. */
  readonly state: Cursor | undefined

  constructor(
    readonly tenant: TenantRun<W>,
    readonly resource: ResourceModel,
    readonly source: Source,
    state?: Cursor,
  ) {
    this.key = { tenantId: tenant.id, resource: resource.name }
    this.state = state ?? tenant.run.cursors.get(cursorName(this.key))
  }

  /** The same cursor with its current state. */
  from(state: Cursor): CursorRun<W> {
    return new CursorRun(this.tenant, this.resource, this.source, state)
  }

  get tenantId(): Int64 {
    return this.tenant.id
  }

  get run(): Run<W> {
    return this.tenant.run
  }

  get warehouse(): W {
    return this.run.warehouse
  }

  get observer(): Observer {
    return this.run.observer
  }

  get signal(): AbortSignal {
    return this.run.signal
  }

  get stats(): TenantStats {
    return this.tenant.stats
  }

  /** The table that holds one row per record. */
  get root(): Table {
    return rootOf(this.resource)
  }

  /** Throws Skip if rows of its tables may be hidden. Called before they are compared. */
  refuseHidden(): Promise<void> {
    const { derived, tables } = this.resource
    const all = [...tables, ...derived.map(({ table }) => table)]
    return this.warehouse.interfered.refuseHidden(all.map(({ name }) => name))
  }

  now(): string {
    return fromMicros(this.run.clock.nowMicros())
  }

  /** Reports something that needs no attention. */
  readonly note: Note = (message, fields) =>
    this.observer.notice?.(message, { ...cursorColumns(this.key), ...fields })

  /** Reports something that needs attention. */
  readonly warn: Note = (message, fields) =>
    this.observer.warning?.(message, { ...cursorColumns(this.key), ...fields })

  /** Reports what ended a part of the work. */
  readonly survived = (error: unknown, message: string): void =>
    this.observer.survived?.(error, message, cursorColumns(this.key))
}

/** The table that holds one row per record. */
export function rootOf({ name, tables: [root] }: ResourceModel): Table {
  if (!root) throw new Bug(`${name} has no table`)
  return root
}

/** One cursor that a run may work on. */
export interface CursorTask {
  readonly tenantId: Int64
  readonly resource: ResourceModel
}

export const keyOf = ({ tenantId, resource }: CursorTask): CursorKey => ({
  tenantId,
  resource: resource.name,
})

export const stateOf = ({ cursors }: Pick<Run, 'cursors'>, task: CursorTask): Cursor | undefined =>
  cursors.get(cursorName(keyOf(task)))

export const now = ({ clock }: { readonly clock: Clock }): string => fromMicros(clock.nowMicros())
