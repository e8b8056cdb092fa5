/*
 * The warehouse: the one place through which rows and state are read and written, with retries while the database is
 * away. Opened by openwarehouse.ts; used by all commands that need one. Under a lease (`under`), every commit
 * checks that the lease is still held: a run that was stopped for longer than its lease lasts can't write once another
 * one has taken over (lease.ts). What only some commands do with a whole warehouse is beside it: migrate.ts,
 * rewrites.ts, openlease.ts.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { type Clock, systemClock } from '../base/clock.js'
import { Bug } from '../base/errors.js'
import type { FlatPage } from '../model/flatten/batch.js'
import { derivePage } from '../model/flatten/derivedvalues.js'
import type { FoundColumns, Model, ResourceModel } from '../model/resourcemodel.js'
import type { Table } from '../model/table.js'
import { countRowsOf, type Db, type Reader } from './database.js'
import type { Dialect, LiveColumn } from './dialect.js'
import { InterferedTables } from './layout/interference.js'
import { checkFence } from './lease/fence.js'
import type { RowSettings } from './lease/oneconfiguration.js'
import { RetryPolicy } from './retrypolicy.js'
import type { CursorKey } from './state/cursors.js'
import { driftName } from './state/drift.js'
import { applyBatch } from './store/apply.js'
import { Backlog } from './store/backlog.js'
import type { Rules } from './store/derived.js'
import { unreadableRules, usualRules, withTenant } from './store/learnedrules.js'
import {
  type Applied,
  type Batch,
  type BatchTables,
  batchTables,
  type EncodedPage,
  type Fence,
  wholeName,
} from './store/versionbatch.js'
import type { Session } from './transaction.js'

/** Reads the settings of derived tables, of all tenants or of one. */
export type RulesReader = (warehouse: Warehouse, tenantId?: Int64) => Promise<Rules>

interface WarehouseOptions {
  readonly dialect: Dialect
  readonly model: Model
  readonly clock?: Clock
  /** Waits between attempts, in milliseconds; tests shorten them. */
  readonly retryWaits?: readonly number[]
  /** Fires when the process should end: from then on, no wait for the database is long. */
  readonly signal?: AbortSignal
  /** Default: days in UTC, tax rates in percent. */
  readonly readRules?: RulesReader | undefined
  /** What shapes the rows. Without it, nothing is compared with what other processes have. */
  readonly rowSettings?: RowSettings | undefined
}

/** The run that holds the lease. Its fence moves on with the stamps of its requests. */
interface Holder {
  readonly runId: string
  readonly lease: { readonly fence: Fence }
}

/** What a warehouse is opened with, and what has been found out since: the same with a lease and without one. */
class Opened {
  readonly clock: Clock
  readonly retryPolicy: RetryPolicy
  readonly backlog: Backlog
  model: Model
  readonly interfered: InterferedTables
  rules: Rules
  /** Drift that this process has recorded: only once, so that concurrent cursors don't queue for the same row. */
  readonly reported = new Set<string>()
  /** Tables and columns that exist: the catalog is the longest answer that an idle run waits for. */
  readonly found = new Set<string>()
  /** Its full name, if this process has made it. */
  madeAs: string | undefined

  constructor(readonly options: WarehouseOptions) {
    const { dialect, model, clock = systemClock, retryWaits: waits, signal } = options
    this.clock = clock
    this.rules = usualRules(clock)
    const classify = (error: unknown): Error => dialect.classify(error)
    this.retryPolicy = new RetryPolicy({ clock, classify, waits, signal })
    this.backlog = new Backlog(dialect.bulk.backlog)
    this.model = model
    const names = this.tables.map(({ name }) => name)
    this.interfered = new InterferedTables(dialect, () =>
      this.retryPolicy.trying(() => dialect.catalog.interferences(names)),
    )
  }

  get tables(): readonly Table[] {
    return [...this.model.tables, ...this.model.histories, ...this.model.state]
  }
}

/** What work has that only reads. */
export class Warehouse implements Reader {
  protected readonly opened: Opened

  constructor(opened: WarehouseOptions | Opened) {
    this.opened = opened instanceof Opened ? opened : new Opened(opened)
  }

  /** The row of the lease under which it is written; that of the whole warehouse without a lease. */
  get leaseName(): string {
    return wholeName
  }

  get dialect(): Dialect {
    return this.opened.options.dialect
  }

  get model(): Model {
    return this.opened.model
  }

  /** migrate.ts finds it before anything is read or written. */
  set found(found: FoundColumns) {
    const { left, privacy } = this.model
    const isSame =
      JSON.stringify([left, ...(privacy.held ?? [])]) === JSON.stringify([found.left, ...found.held])
    if (!isSame) this.opened.model = this.model.withFound(found)
  }

  get clock(): Clock {
    return this.opened.clock
  }

  get rowSettings(): RowSettings | undefined {
    return this.opened.options.rowSettings
  }

  /** For statements and for reading; only `apply` writes rows. */
  get db(): Db {
    return this.dialect.db
  }

  /** Where it is, for people. Never includes a password. */
  get where(): string {
    return this.dialect.where
  }

  get madeAs(): string | undefined {
    return this.opened.madeAs
  }

  get tables(): readonly Table[] {
    return this.opened.tables
  }

  /** What others made or set on its tables. */
  get interfered(): InterferedTables {
    return this.opened.interfered
  }

  get retryPolicy(): RetryPolicy {
    return this.opened.retryPolicy
  }

  /**
   * Whether `TABLE` or `TABLE.COLUMN` exists; asks until it does. Commands that only read may meet warehouses of older
   * versions.
   */
  async has(name: string): Promise<boolean> {
    return this.opened.found.has(name) || this.trying(() => this.isThere(name))
  }

  /** The same, for work that goes on without a database that is away. */
  async isThere(name: string): Promise<boolean> {
    const { found } = this.opened
    if (!found.has(name)) await this.columns()
    return found.has(name)
  }

  /** The columns that exist. What is among them is known to `has`. */
  async columns(): Promise<readonly LiveColumn[]> {
    const live = await this.dialect.catalog.liveColumns()
    for (const { table, name } of live) this.opened.found.add(table).add(`${table}.${name}`)
    return live
  }

  get rules(): Rules {
    return this.opened.rules
  }

  set rules(rules: Rules) {
    this.opened.rules = rules
  }

  /**
   * Reads the settings of derived tables. Every writer does so before it stores anything, since they may have changed.
   * With a tenant, the settings of all others stay the same.
   */
  async learnRules(tenantId?: Int64): Promise<void> {
    const { readRules } = this.opened.options
    if (!readRules) return
    const rules = await readRules(this, tenantId).catch(unreadableRules)
    this.rules = tenantId === undefined ? rules : withTenant(this.rules, tenantId, rules)
  }

  /** The pages that aren't stored yet. */
  get unstored(): Backlog {
    return this.opened.backlog
  }

  /**
   * Encodes a page into the form in which its dialect stores it, before the page waits for its turn: on Postgres, a
   * page of arrays instead of a hundred thousand small objects, which every collection would copy. Also computes what
   * follows from the page's records.
   */
  encode(page: FlatPage, { tenantId, resource }: CursorKey): EncodedPage {
    const { dialect, rules } = this
    const { rows, ...rest } = page
    const from = this.resourceNamed(resource)
    const context = () => ({ tenantId, settings: rules.of(tenantId), form: dialect.sql.numbers })
    const derived = from.derived.length > 0 ? derivePage(from, page, context()) : new Map()
    const all = derived.size === 0 ? rows : new Map([...rows, ...derived])
    return { ...rest, rows: dialect.bulk.encode(all, this.model.tableByName) }
  }

  protected resourceNamed(name: string): ResourceModel {
    const resource = this.model.byName.get(name)
    if (!resource) throw new Bug(`No resource ${name}`)
    return resource
  }

  /** Reads, and repeats the read if the warehouse was away. */
  read<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.trying(() => work(this.db))
  }

  countRows(table: Table, tenantId?: Int64): Promise<number> {
    return this.read((db) => countRowsOf(db, table, tenantId))
  }

  close(): Promise<void> {
    return this.dialect.close()
  }

  /**
   * Repeats work that is safe to repeat while the database is away. `written`: the tables that it writes, for an error
   * that names none.
   */
  trying<T>(work: () => Promise<T>, written: readonly Table[] = []): Promise<T> {
    return this.retryPolicy.trying(work).catch((error) => this.interfered.explain(error, written))
  }
}

/**
 * The same for work that writes. Under a lease (`under`), each commit checks that it is still held; without one, it is
 * for work that any process may do, such as the inbox and the claim itself.
 */
export class Writer extends Warehouse {
  readonly #holder: Holder | undefined

  constructor(opened: WarehouseOptions | Opened, holder?: Holder) {
    super(opened)
    this.#holder = holder
  }

  /** The same warehouse for the run that holds the lease. */
  under(lease: Holder['lease'], runId: string): Writer {
    return new Writer(this.opened, { lease, runId })
  }

  /** The same, for recording under the name of another run. */
  as(runId: string): Writer {
    return this.under(this.#held.lease, runId)
  }

  get #held(): Holder {
    if (!this.#holder) throw new Bug('Only a run that holds the lease has a name')
    return this.#holder
  }

  get #fence(): Fence | undefined {
    return this.#holder?.lease.fence
  }

  /** The run that holds the lease. Throws Bug without one. */
  get runId(): string {
    return this.#held.runId
  }

  override get leaseName(): string {
    return this.#fence?.name ?? wholeName
  }

  /** The token of the lease. Throws Bug without one. */
  get token(): Int64 {
    return this.#held.lease.fence.token
  }

  rememberMade(): void {
    this.opened.madeAs = this.where
  }

  /** Stores one page atomically: rows, children, quarantine and progress. Safe to repeat. */
  async apply(batch: Omit<Batch, 'fence'>): Promise<Applied> {
    if (!batch.page.forgotten) return this.#apply(batch)
    const { applyForgetting } = await import('./hiding/forgottenrecords.js')
    return applyForgetting(this, batch, (one) => this.#apply(one))
  }

  async #apply(batch: Omit<Batch, 'fence'>): Promise<Applied> {
    const resource = this.resourceNamed(batch.resource)
    this.interfered.refuseUnchanged(resource, this.model.embedded)
    const to = batchTables(resource, this.model.embedded)
    const drift = batch.page.drift.filter((entry) => !this.opened.reported.has(driftName(entry)))
    const readBack = await this.interfered.ask()
    const page = { ...batch.page, drift }
    const fresh = { ...batch, fence: this.#fence, page, readBack: readBack.size > 0 ? readBack : undefined }
    const applied = await this.#store(to, fresh)
    for (const entry of drift) this.opened.reported.add(driftName(entry))
    return applied
  }

  #store(to: BatchTables, batch: Batch): Promise<Applied> {
    const { dialect } = this
    const { backlog } = this.opened
    const storeHere = (isCautious: boolean): Promise<Applied> =>
      dialect.transaction((session) =>
        backlog.asking((sent) => applyBatch(dialect, session, to, batch, { sent, isCautious })),
      )
    const store = (): Promise<Applied> =>
      (batch.closing ? undefined : dialect.bulk.offload?.(to, batch)) ??
      storeHere(false).catch((error) =>
        dialect.bulk.isTaken(error) ? storeHere(true) : Promise.reject(error),
      )
    return backlog.storing(() => this.trying(store, [...to.tables, ...to.derived, ...to.embedded]))
  }

  /** Writes state in one transaction. Returns the number of rows affected. */
  write(statements: readonly CompiledQuery[]): Promise<number> {
    return this.transaction(async (session) => {
      let affected = 0
      for (const statement of statements) affected += (await session.run(statement)).affected
      return affected
    })
  }

  /**
   * Runs the work in a transaction, and repeats it if the warehouse was away: the work must be safe to repeat. Under a
   * lease, it commits only while the lease is held.
   */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.trying(async () => {
      const fence = this.#fence
      return this.dialect.transaction(async (session) => {
        const result = await work(session)
        await checkFence(this.dialect, session, fence)
        return result
      })
    })
  }
}
