/*
 * The warehouse as the one run that may write it has it. Every commit checks the lease, so a run that was stopped for
 * longer than its lease lasts can't write once another one has taken over (lease.ts).
 */
import { randomBytes } from 'node:crypto'
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Clock, Stamps } from '../base/clock.js'
import { fromMicros } from '../base/timestamp.js'
import type { Flattened } from '../model/flatten/batch.js'
import type { Table } from '../model/table.js'
import type { CursorKey } from './cursors.js'
import type { Db } from './database.js'
import type { Rules } from './derived.js'
import type { Dialect } from './dialect.js'
import { type Lease, LeaseHeld, listenCommand, usualLeaseMs } from './lease.js'
import type { PlannedChange } from './migrate.js'
import type { MovedColumn } from './migratecolumns.js'
import type { Session } from './transaction.js'
import type { Applied, Batch, EncodedPage, Fence } from './versionbatch.js'
import type { Warehouse } from './warehouse.js'
import type { PageWriter, Writer } from './writer.js'

/** A warehouse whose state is written and that knows its database, with a lease or without one. */
export interface DialectWriter extends Writer {
  readonly dialect: Dialect
}

export class LeasedWarehouse implements PageWriter {
  readonly #warehouse: Warehouse
  readonly #lease: Pick<Lease, 'fence'>

  constructor(
    warehouse: Warehouse,
    lease: Pick<Lease, 'fence'>,
    readonly runId: string,
  ) {
    this.#warehouse = warehouse
    this.#lease = lease
  }

  get #fence(): Fence {
    return this.#lease.fence
  }

  /** The token of the lease. */
  get token(): Int64 {
    return this.#fence.token
  }

  /** The same, for recording under the name of another run. */
  as(runId: string): LeasedWarehouse {
    return new LeasedWarehouse(this.#warehouse, this.#lease, runId)
  }

  get db(): Db {
    return this.#warehouse.db
  }

  get dialect(): Dialect {
    return this.#warehouse.dialect
  }

  get where(): string {
    return this.#warehouse.where
  }

  get tables(): readonly Table[] {
    return this.#warehouse.tables
  }

  get numbers() {
    return this.#warehouse.numbers
  }

  get rules(): Rules {
    return this.#warehouse.rules
  }

  learnRules(tenantId?: Int64): Promise<void> {
    return this.#warehouse.learnRules(tenantId)
  }

  has(table: string): Promise<boolean> {
    return this.#warehouse.has(table)
  }

  get interfered(): Warehouse['interfered'] {
    return this.#warehouse.interfered
  }

  read<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#warehouse.read(work)
  }

  countRows(table: Table, tenantId?: Int64): Promise<number> {
    return this.#warehouse.countRows(table, tenantId)
  }

  write(statements: readonly CompiledQuery[]): Promise<number> {
    return this.#warehouse.write(statements, this.#fence)
  }

  transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#warehouse.transaction(work, this.#fence)
  }

  encode(page: Flattened, key: CursorKey): EncodedPage {
    return this.#warehouse.encode(page, key)
  }

  apply(batch: Omit<Batch, 'fence'>): Promise<Applied> {
    return this.#warehouse.apply({ ...batch, fence: this.#fence })
  }

  hasMovingRows(resource: string): boolean {
    return this.#warehouse.hasMovingRows(resource)
  }

  get unstored(): Warehouse['unstored'] {
    return this.#warehouse.unstored
  }

  warm(): void {
    this.#warehouse.warm()
  }

  /** What `migrate` would change. */
  plan(): Promise<PlannedChange[]> {
    return this.#warehouse.plan()
  }

  migrateColumns(signal: AbortSignal): Promise<MovedColumn[]> {
    return this.#warehouse.migrateColumns(signal, this.#fence)
  }

  optimize(tables: readonly Table[]): Promise<void> {
    return this.#warehouse.optimize(tables)
  }
}

/** What a writer works under, and with. */
export interface Leased {
  readonly runId: string
  readonly warehouse: LeasedWarehouse
  /** Fires when the run should end or has lost the lease. */
  readonly signal: AbortSignal
}

/** Released at the end of the block that holds it: `await using lease = await openLease(…)`. */
export interface WriterLease extends Leased, AsyncDisposable {
  /** Work that ended because the lease was lost has failed, whatever it returned. Call this before using its result. */
  throwIfLost(): void
}

/** What is needed to claim a warehouse. */
interface LeaseNeeds {
  readonly warehouse: Warehouse
  readonly clock: Clock
  /** How long the lease lasts without being renewed, in milliseconds; default 60,000. */
  readonly leaseMs?: number
  /** Fires when the work should end. */
  readonly signal?: AbortSignal
  /** The stamps of its requests: they begin after everything on record. */
  readonly stamps?: Stamps
  /** The warehouse may be an older program's, or have no table but the lease. */
  readonly isBare?: boolean
  /**
   * false: it stores no row that the configuration shapes. Such work neither fails because of another configuration nor
   * makes its own the one that others must have.
   */
  readonly shapesRows?: boolean
}

/** Sortable by time, and unique: `20260102T030405-1f2e3d`. */
const newRunId = (clock: Clock): string =>
  `${fromMicros(clock.nowMicros()).slice(0, 19).replace(/[-:]/g, '')}-${randomBytes(3).toString('hex')}`

/** Milliseconds to wait for a listener: it releases the lease within 10 seconds, and a dead one loses it within 60. */
const listenerPatience = 90_000
/** Milliseconds between two attempts, and so between two requests for the lease. */
const betweenAttempts = 500

/**
 * Claims the lease. A listener holds it only until another command wants it, so no command exits with 4 because of one.
 */
async function claim(
  {
    warehouse,
    clock,
    signal,
  }: Pick<LeaseNeeds, 'warehouse' | 'clock'> & { readonly signal: AbortSignal | undefined },
  request: Parameters<Warehouse['claim']>[0],
): Promise<Lease> {
  const until = clock.nowMicros() + BigInt(listenerPatience) * 1000n
  for (;;) {
    try {
      return await warehouse.claim(request)
    } catch (error) {
      const isWaiting = error instanceof LeaseHeld && error.isListener && request.command !== listenCommand
      if (!isWaiting || clock.nowMicros() >= until || signal?.aborted) throw error
      await warehouse.want()
      await clock.sleep(betweenAttempts, signal)
    }
  }
}

/** Becomes the only writer of the warehouse. Throws Stop with exit code 4 while another run writes. */
export async function openLease(
  { warehouse, clock, leaseMs = usualLeaseMs, signal, stamps, isBare, shapesRows = !isBare }: LeaseNeeds,
  command: string,
): Promise<WriterLease> {
  const runId = newRunId(clock)
  const rowSettings = shapesRows ? warehouse.rowSettings : undefined
  const request = { runId, command, leaseMs, stamps, isBare, rowSettings }
  const lease = await claim({ warehouse, clock, signal }, request)
  try {
    await warehouse.learnRules()
  } catch (error) {
    await warehouse.giveBack(lease)
    throw error
  }
  return {
    runId,
    warehouse: new LeasedWarehouse(warehouse, lease, runId),
    signal: signal ? AbortSignal.any([signal, lease.lost]) : lease.lost,
    throwIfLost: () => lease.lost.throwIfAborted(),
    [Symbol.asyncDispose]: () => warehouse.giveBack(lease),
  }
}
