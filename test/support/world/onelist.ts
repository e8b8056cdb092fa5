/** One list of a tenant at a source that may be odd, and a warehouse that follows it. */
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { type VerifyOptions, verify } from '../harness/commands.js'
import { type CursorReport, type RunOptions, type RunReport, sync } from '../harness/runs.js'
import { type Kept, type Kind, kept, rowsOf, type Warehouse } from '../harness/warehouse.js'
import { HandClock } from './clocks.js'
import { atSource, fill, live, lose } from './notes.js'
import { randomFrom } from './random.js'

export class OneList {
  warehouse!: Warehouse
  /** Of the last run. */
  notices: [string, Record<string, unknown>][] = []
  clock: HandClock
  readonly #kept: Kept

  constructor(
    readonly sandbox: Sandbox,
    kind: Kind,
    private readonly usual: RunOptions = {},
    readonly resource = 'notes',
  ) {
    this.#kept = kept(kind)
    this.clock = new HandClock('2026-03-01T12:00:00Z', 10n)
  }

  protected startClock(): HandClock {
    return new HandClock('2026-03-01T12:00:00Z', 10n)
  }

  /** An empty warehouse. */
  protected opened(): Promise<Warehouse> {
    return this.#kept.open()
  }

  /** A list of so many records, and an empty warehouse. */
  async begin(count: number): Promise<void> {
    this.sandbox.reset()
    this.sandbox.store.shuffleTies = false
    this.sandbox.store.addTenant({ id: 1 })
    this.clock = this.startClock()
    this.add(count)
    this.warehouse = await this.opened()
  }

  /** Where the warehouse is. */
  get address() {
    return this.#kept.address
  }

  get collection() {
    return this.sandbox.store.collection(1, this.resource)
  }

  get odd() {
    return this.collection.odd
  }

  add(count: number, from = 1): void {
    fill(this.sandbox, count, { from, resource: this.resource })
  }

  put(id: number, time: string, fields: object = {}): void {
    this.sandbox.store.put(1, this.resource, { ...template(this.resource, id, time), ...fields })
  }

  remove(...ids: readonly number[]): void {
    for (const id of ids) this.sandbox.store.remove(1, this.resource, id)
  }

  /** Rows vanish from the warehouse. */
  lose(...ids: readonly number[]): Promise<void> {
    return lose(this.warehouse, ids, this.resource)
  }

  /** Somebody with a database tool writes into rows, of one record or of all. */
  write(columns: object, id?: number, table = this.resource): Promise<unknown> {
    const update = this.warehouse.db.updateTable(table as 'notes').set(columns)
    return this.warehouse.write([(id === undefined ? update : update.where('id', '=', id)).compile()])
  }

  /** Calls it before each request for the list, with its number, until the returned function is called. */
  onList(happens: (asked: number, page: number, perPage: number) => unknown): () => void {
    let asked = 0
    return this.sandbox.onRequest(({ resource, id, page, perPage }) => {
      if (resource === this.resource && id === null) return void happens(++asked, page ?? 1, perPage ?? 0)
    })
  }

  #options(options: RunOptions = {}): RunOptions {
    this.notices = []
    const { clock, resource, notices, usual } = this
    return { resources: [resource], clock, notices, random: randomFrom(1), ...usual, ...options }
  }

  /** A run, and what it reports of the list. */
  async run(options: RunOptions = {}): Promise<{ report: RunReport; cursor: CursorReport }> {
    this.sandbox.resetRequests()
    const report = await sync(this.sandbox, this.warehouse, this.#options(options))
    const cursor = report.cursors.find((one) => one.tenant_id === 1 && one.resource === this.resource)!
    return { report, cursor }
  }

  compared(options: VerifyOptions = {}): ReturnType<typeof verify> {
    this.sandbox.resetRequests()
    return verify(this.sandbox, this.warehouse, this.#options(options))
  }

  live(): Promise<Map<number, string>> {
    return live(this.warehouse, this.resource)
  }

  /** Whether the warehouse has every record of the source, in its version, and no other. */
  async isEqual(): Promise<boolean> {
    const rows = await this.live()
    const ids = atSource(this.sandbox, this.resource)
    const versionOf = (id: number): unknown => this.sandbox.store.stored(1, this.resource, id)?.updated_at
    return rows.size === ids.length && ids.every((id) => rows.get(id) === versionOf(id))
  }

  async row(id: number): Promise<Record<string, unknown> | undefined> {
    return (await rowsOf(this.warehouse, this.resource)).find((row) => row.id === id)
  }

  async cursor(): Promise<Record<string, unknown>> {
    return (await rowsOf(this.warehouse, 'sync_cursors'))[0]!
  }

  /** How many records were requested by id since the last command began. */
  get byId(): number {
    return this.sandbox.requests.filter(({ id }) => id !== null).length
  }

  /** How many records each page was asked for. */
  get sizes(): number[] {
    const own = this.sandbox.requests.filter(({ resource }) => resource === this.resource)
    return own.map(({ per_page }) => per_page ?? 0)
  }
}
