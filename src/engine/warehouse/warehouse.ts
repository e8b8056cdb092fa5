/**
 * The warehouse: the one place through which rows and state are read and written, with retries while the database is
 * away. Opened by openwarehouse.ts; used by every command except demo and config.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { type Clock, systemClock } from '../base/clock.js'
import { Bug } from '../base/errors.js'
import type { NumberForm } from '../base/numbertoken.js'
import { fromMicros } from '../base/timestamp.js'
import type { Flattened } from '../model/flatten/batch.js'
import { derivePage } from '../model/flatten/derivedvalues.js'
import { historyNames } from '../model/registry.js'
import type { Model, ResourceModel } from '../model/resourcemodel.js'
import type { Table } from '../model/table.js'
import { applyBatch } from './apply.js'
import { Backlog } from './backlog.js'
import { type BatchTables, batchTables } from './batchtables.js'
import type { Change } from './change.js'
import type { CursorKey } from './cursors.js'
import { countRowsOf, type Db } from './database.js'
import type { Rules } from './derived.js'
import type { Dialect, Interference, Traces } from './dialect.js'
import { driftName } from './drift.js'
import { checkFence } from './fence.js'
import { InterferedTables } from './interference.js'
import { unreadableRules, usualRules, withTenant } from './learnedrules.js'
import { type Lease, type LeaseRequest, takeLease, wantLease } from './lease.js'
import {
  migrateTables,
  type OnChange,
  type PlannedChange,
  type PlanOptions,
  planMigration,
  type Wanted,
} from './migrate.js'
import {
  type MovedColumn,
  moveColumns,
  type PendingMove,
  pendingMoves,
  waitingMoves,
} from './migratecolumns.js'
import type { RowSettings } from './oneconfiguration.js'
import type { Transact } from './pendingmoves.js'
import { RetryPolicy } from './retrypolicy.js'
import { storeStorable } from './setaside.js'
import type { Session } from './transaction.js'
import { tryWrite } from './trywrite.js'
import type { Applied, Batch, EncodedPage, Fence } from './versionbatch.js'
import type { Writer } from './writer.js'

/** See WarehouseOptions. */
export type RulesReader = (warehouse: Warehouse, tenantId?: Int64) => Promise<Rules>

interface WarehouseOptions {
  readonly dialect: Dialect
  readonly model: Model
  readonly clock?: Clock
  /** Waits between attempts, in milliseconds; tests shorten them. */
  readonly retryWaits?: readonly number[]
  /** Fires when the process should end: from then on, no wait for the database is long. */
  readonly signal?: AbortSignal
  /** Reads the settings of derived tables; default: days in UTC, tax rates in percent. */
  readonly readRules?: RulesReader
  /** What shapes the rows. Without it, nothing is compared with what other processes have. */
  readonly rowSettings?: RowSettings | undefined
}

export class Warehouse implements Writer {
  readonly dialect: Dialect
  readonly rowSettings: RowSettings | undefined
  readonly #model: Model
  readonly #clock: Clock
  readonly #retryPolicy: RetryPolicy
  readonly #backlog: Backlog
  /** Drift that this process has recorded: only once, so that concurrent cursors don't queue for the same row. */
  readonly #reported = new Set<string>()
  /** The catalog is the longest answer that an idle run waits for. */
  readonly #found = new Set<string>()
  readonly #readRules: RulesReader | undefined
  readonly interfered: InterferedTables
  /** The settings of derived tables. */
  rules: Rules

  constructor(options: WarehouseOptions) {
    const { dialect, clock = systemClock, retryWaits: waits, signal } = options
    this.dialect = dialect
    this.rowSettings = options.rowSettings
    this.#readRules = options.readRules
    this.rules = usualRules(clock)
    this.#model = options.model
    this.#clock = clock
    const classify = (error: unknown): Error => dialect.classify(error)
    this.#retryPolicy = new RetryPolicy({ clock, classify, waits, signal })
    this.#backlog = new Backlog(dialect.backlog)
    this.interfered = new InterferedTables(dialect, () => this.interferences())
  }

  /** For state and for reading; only `apply` writes rows. */
  get db(): Db {
    return this.dialect.db
  }

  get where(): string {
    return this.dialect.where
  }

  get numbers(): NumberForm {
    return this.dialect.numbers
  }

  get tables(): readonly Table[] {
    return [...this.#model.tables, ...this.#model.histories, ...this.#model.state]
  }

  /** What `migrate` would change. */
  plan(options?: PlanOptions): Promise<PlannedChange[]> {
    return this.#trying(() => planMigration(this.dialect, this.#wanted, options))
  }

  /** Whether the table exists; asks until it does. Commands that only read may meet warehouses of older versions. */
  async has(name: string): Promise<boolean> {
    if (this.#found.has(name)) return true
    const live = await this.#trying(() => this.dialect.liveColumns())
    for (const { table } of live) this.#found.add(table)
    return this.#found.has(name)
  }

  /** The names of the existing tables of versions, including those whose history was switched off. */
  async histories(): Promise<string[]> {
    const live = await this.#trying(() => this.dialect.liveColumns())
    return historyNames(this.#model).filter((name) => live.some(({ table }) => table === name))
  }

  migrate(onChange?: OnChange): Promise<readonly Change[]> {
    const how = { clock: this.#clock, onChange, unchanged: this.interfered.unchanged }
    return this.#trying(() => migrateTables(this.dialect, this.#wanted, how))
  }

  /** Whether values wait to be moved between `_extra` and columns. `migrateColumns` needs the lease. */
  async hasPendingMoves(): Promise<boolean> {
    const waiting = await this.#trying(() => waitingMoves(this.dialect, this.#model))
    return waiting.length > 0
  }

  /** What `migrateColumns` would move. */
  pendingMoves(): Promise<PendingMove[]> {
    return this.#trying(() => pendingMoves(this.dialect, this.#model))
  }

  /**
   * Moves values between `_extra` and the columns that the configuration has, or had. Does nothing if there are none.
   */
  migrateColumns(signal: AbortSignal, fence?: Fence): Promise<MovedColumn[]> {
    const transact: Transact = (work) => {
      signal.throwIfAborted()
      return this.transaction(work, fence)
    }
    const at = (): string => fromMicros(this.#clock.nowMicros())
    return this.#trying(() => moveColumns(this.dialect, this.#model, transact, at))
  }

  get #wanted(): Wanted {
    return { model: this.#model, tables: this.tables, rowSettings: this.rowSettings }
  }

  /** Throws Stop if the warehouse can't be written. `creates`: runs create tables themselves. */
  check(how: { readonly creates: boolean }): Promise<void> {
    return this.#trying(() => tryWrite(this.dialect, this.tables, how))
  }

  /** What others made or set on its tables. */
  interferences(): Promise<readonly Interference[]> {
    return this.#trying(() => this.dialect.interferences(this.tables.map(({ name }) => name)))
  }

  /**
   * Reads the settings of derived tables. Every writer does so before it stores anything, since they may have changed.
   * With a tenant, the settings of all others stay the same.
   */
  async learnRules(tenantId?: Int64): Promise<void> {
    if (!this.#readRules) return
    const rules = await this.#readRules(this, tenantId).catch(unreadableRules)
    this.rules = tenantId === undefined ? rules : withTenant(this.rules, tenantId, rules)
  }

  claim(claim: Omit<LeaseRequest, 'clock'>): Promise<Lease> {
    this.interfered.forget()
    return this.#trying(() => takeLease(this.dialect, { ...claim, clock: this.#clock }))
  }

  /** Records that a command waits for the lease; a listener then releases it. */
  want(): Promise<void> {
    return this.#trying(() => wantLease(this.dialect, this.#clock))
  }

  /**
   * Releases a lease. A failure is ignored: the lease expires by itself, and hiding the error of the work that held it,
   * or calling finished work failed, would be worse. It doesn't wait again for a database that is known to be away.
   */
  async giveBack({ release }: Pick<Lease, 'release'>): Promise<void> {
    const released = release().catch(() => {})
    if (!this.#retryPolicy.hasGivenUp) await this.#retryPolicy.bounded(released).catch(() => {})
  }

  /** The pages that aren't stored yet. */
  get unstored(): Pick<Backlog, 'pages' | 'enough' | 'next' | 'free'> {
    return this.#backlog
  }

  /** Starts what a long load needs, while its first page is on the way. */
  warm(): void {
    this.dialect.warm()
  }

  /**
   * Encodes a page into the form in which its dialect stores it, before the page waits for its turn: on Postgres, a
   * page of arrays instead of a hundred thousand small objects, which every collection would copy. Also computes what
   * follows from the page's records.
   */
  encode(page: Flattened, { tenantId, resource }: CursorKey): EncodedPage {
    const { dialect, rules } = this
    const { rows, ...rest } = page
    const from = this.#resource(resource)
    const context = () => ({ tenantId, settings: rules.of(tenantId), form: dialect.numbers })
    const derived = from.derived.length > 0 ? derivePage(from, page, context()) : new Map()
    const all = derived.size === 0 ? rows : new Map([...rows, ...derived])
    return { ...rest, rows: dialect.encode(all, this.#model.tableByName) }
  }

  /** Whether rows of the resource's records move from record to record (sharedrows.ts). */
  hasMovingRows(resource: string): boolean {
    return this.#resource(resource).tables.some(({ moves }) => moves)
  }

  #resource(name: string): ResourceModel {
    const resource = this.#model.byName.get(name)
    if (!resource) throw new Bug(`No resource ${name}`)
    return resource
  }

  /** Stores one page atomically: rows, children, quarantine and progress. Safe to repeat. */
  async apply(batch: Batch): Promise<Applied> {
    const resource = this.#resource(batch.resource)
    const to = batchTables(resource, this.#model.embedded)
    const drift = batch.page.drift.filter((entry) => !this.#reported.has(driftName(entry)))
    const readBack = await this.interfered.ask()
    const fresh = { ...batch, page: { ...batch.page, drift }, ...(readBack.size > 0 && { readBack }) }
    const applied = await storeStorable({ dialect: this.dialect, to, batch: fresh }, (rest) =>
      this.#store(to, rest),
    )
    for (const entry of drift) this.#reported.add(driftName(entry))
    return applied
  }

  #store(to: BatchTables, batch: Batch): Promise<Applied> {
    const { dialect } = this
    const storeHere = (isCautious: boolean): Promise<Applied> =>
      dialect.transaction((session) =>
        this.#backlog.asking((sent) => applyBatch(dialect, session, to, batch, { sent, isCautious })),
      )
    const store = (): Promise<Applied> =>
      dialect.offload?.(to, batch) ??
      storeHere(false).catch((error) => (dialect.isTaken(error) ? storeHere(true) : Promise.reject(error)))
    return this.#backlog.storing(() => this.#trying(store, [...to.tables, ...to.derived, ...to.embedded]))
  }

  /** Writes state in one transaction. Returns the number of rows affected. */
  write(statements: readonly CompiledQuery[], fence?: Fence): Promise<number> {
    return this.transaction(async (session) => {
      let affected = 0
      for (const statement of statements) affected += (await session.run(statement)).affected
      return affected
    }, fence)
  }

  /**
   * Runs the work in a transaction, and repeats it if the warehouse was away: the work must be safe to repeat. With a
   * fence, it commits only while the lease with that token is held.
   */
  transaction<T>(work: (session: Session) => Promise<T>, fence?: Fence): Promise<T> {
    return this.#trying(() =>
      this.dialect.transaction(async (session) => {
        const result = await work(session)
        await checkFence(this.dialect, session, fence)
        return result
      }),
    )
  }

  /** Reads, and repeats the read if the warehouse was away. */
  read<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#trying(() => work(this.db))
  }

  /** Live rows of a root table, or all rows of a child table. */
  countRows(table: Table, tenantId?: Int64): Promise<number> {
    return this.read((db) => countRowsOf(db, table, tenantId))
  }

  optimize(tables: readonly Table[]): Promise<void> {
    return this.#trying(() => this.dialect.optimize(tables))
  }

  /** Runs work that permanently deletes rows of these tables, then removes their traces in the database's files. */
  erase(tables: readonly string[], work: () => Promise<void>): Promise<Traces> {
    return this.dialect.erase(tables, work)
  }

  close(): Promise<void> {
    return this.dialect.close()
  }

  #trying<T>(work: () => Promise<T>, written: readonly Table[] = []): Promise<T> {
    return this.#retryPolicy.trying(work).catch((error) => this.interfered.explain(error, written))
  }
}
