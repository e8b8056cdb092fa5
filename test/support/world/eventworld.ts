/** A source whose events are put into an inbox by hand, a synced warehouse, and a clock that the test moves. */
import { addMicros, canonical, fromMicros } from '../../../src/engine/base/timestamp.js'
import type { ApiRecord, Sandbox, SandboxOptions } from '../../../src/sandbox/index.js'
import type { Address } from '../harness/place.js'
import { type RunOptions, sync } from '../harness/runs.js'
import { sandboxOfFile } from '../harness/sandbox.js'
import { type Kind, reopen, rowsOf, type Warehouse } from '../harness/warehouse.js'
import { between } from './between.js'
import { HandClock } from './clocks.js'
import { EventBench, type TestEvent } from './events.js'

export const minute = 60_000
export const list = 'repair_orders'
export const resources = [list, 'payments', 'customers']

type OrderEvent = Omit<TestEvent, 'tenant' | 'resource'> & Partial<TestEvent>

export class EventWorld {
  /** What runs and turns have told. */
  readonly notices: [string, Record<string, unknown>][] = []
  readonly #unused: number[]

  private constructor(
    readonly clock: HandClock,
    readonly sandbox: Sandbox,
    readonly address: Address,
    readonly warehouse: Warehouse,
    readonly events: EventBench,
    private readonly runs: RunOptions,
  ) {
    this.#unused = this.orders
  }

  /** Synced, unless there is no data yet. */
  static async open(
    kind: Kind,
    { clock: given, ...options }: SandboxOptions & { readonly clock?: HandClock } = {},
    runs: RunOptions = {},
  ): Promise<EventWorld> {
    // A tick, so that no two stamps are equal.
    const clock = given ?? new HandClock(new Date().toISOString(), 1n)
    const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 12, seed: 5, clock, ...options })
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    const events = await EventBench.open(sandbox, warehouse, clock.still)
    const world = new EventWorld(clock, sandbox, address, warehouse, events, runs)
    if (options.data !== 'none') await world.begin()
    return world
  }

  /** For the next test of a file: hours later, nothing waits, nothing is known of late records, and every list is read. */
  async begin(): Promise<void> {
    this.sandbox.script([])
    this.clock.pass(120 * minute)
    await this.events.empty()
    const { db } = this.warehouse
    for (const table of ['sync_lateness', 'sync_quarantine'] as const)
      await this.warehouse.write([db.deleteFrom(table).compile()])
    // Whether the source answers by id.
    const anew = { by_id_refused_at: null, refill: null, remembered: null, walk: null }
    await this.warehouse.write([db.updateTable('sync_cursors').set(anew).compile()])
    const report = await this.sync(this.runs)
    if (report.status !== 'ok') throw new Error(`The first sync is ${report.status}`)
    this.sandbox.resetRequests()
    this.notices.length = 0
  }

  /** Goes on to the beginning of an hour. */
  nextHour(): void {
    const hour = 60 * minute
    this.clock.pass(hour - (Number(this.clock.micros / 1000n) % hour))
  }

  get now(): string {
    return fromMicros(this.clock.micros)
  }

  get tenant(): number {
    return this.sandbox.tenantIds[0] ?? 0
  }

  get orders(): number[] {
    return this.sandbox.store.ids(this.tenant, list)
  }

  /** An order that no test of the file has had before. */
  unused(): number {
    const id = this.#unused.shift()
    if (id === undefined) throw new Error('The tests of this file need more orders')
    return id
  }

  sync(options: RunOptions = {}) {
    const { notices } = this
    return sync(this.sandbox, this.warehouse, { clock: this.clock.still, resources, notices, ...options })
  }

  /** A turn; what it asked the source for, and what has become of the events, such as `1 list, 2 by id: settled`. */
  async turn(options: RunOptions = {}): Promise<string> {
    this.requests()
    const end = await this.events.turn({ notices: this.notices, ...options })
    const { lists, items } = this.requests()
    const asked = [lists > 0 && `${lists} list${lists > 1 ? 's' : ''}`, items > 0 && `${items} by id`]
    const how = end.by === 'done' ? '' : `${end.by}, `
    return `${how}${asked.filter(Boolean).join(', ') || 'nothing'}: ${await this.seen()}`
  }

  /** What has become of the events, in the order of their arrival; alike ones are counted. */
  async seen(): Promise<string> {
    const counted = new Map<string, number>()
    for (const state of await this.events.states()) counted.set(state, (counted.get(state) ?? 0) + 1)
    return [...counted].map(([state, n]) => (n === 1 ? state : `${n} ${state}`)).join(', ')
  }

  put(event: OrderEvent): Promise<void> {
    return this.events.put({ tenant: this.tenant, resource: list, ...event })
  }

  /** Changes an order at the source; returns its new `updated_at`. */
  change(id: number, fields: Record<string, unknown> = { detail: 'changed' }): string {
    this.sandbox.store.change(this.tenant, list, id, fields)
    return this.version(id)
  }

  remove(id: number): boolean {
    return this.sandbox.store.remove(this.tenant, list, id)
  }

  version(id: number): string {
    const { updated_at } = this.sandbox.store.get(this.tenant, list, id) as ApiRecord
    return canonical(String(updated_at)) ?? ''
  }

  /** This many ms after a time. */
  later(time: string, milliseconds: number): string {
    return addMicros(time, BigInt(milliseconds) * 1000n)
  }

  /** Shows a record in its earlier state, in lists and by id, until the returned function is called. */
  lag(id: number, change: () => void): () => void {
    const collection = this.sandbox.store.collection(this.tenant, list)
    const before = collection.newest(0, collection.size).find(({ key }) => key === id)
    change()
    return collection.hold(id, before)
  }

  /** Answers by id have this status: of one order, or all. */
  answers(id: number | undefined, status: number): void {
    const when = { kind: 'item' as const, ...(id !== undefined && { id }) }
    this.sandbox.script([{ when, fault: { kind: 'status', status } }])
  }

  async row(id: number): Promise<Record<string, unknown> | undefined> {
    const rows = await rowsOf(this.warehouse, list)
    return rows.find((one) => Number(one.id) === id && Number(one.tenant_id) === this.tenant)
  }

  async cursor(resource = list): Promise<Record<string, unknown> | undefined> {
    const rows = await rowsOf(this.warehouse, 'sync_cursors')
    return rows.find((one) => Number(one.tenant_id) === this.tenant && one.resource === resource)
  }

  /** From where the work asks for a list at first. */
  async floor(work: () => Promise<unknown>, resource = list): Promise<string> {
    const from: string[] = []
    const stop = this.sandbox.onRequest(({ path, updatedAfter }) => {
      if (path.endsWith(resource)) from.push(String(updatedAfter))
    })
    await work()
    stop()
    return from[0] ?? ''
  }

  /** Requests since the last call: for lists, and by id. */
  requests(): { readonly lists: number; readonly items: number } {
    const all = this.sandbox.requests.filter(({ path }) => !path.includes('authorizations'))
    this.sandbox.resetRequests()
    const items = all.filter(({ path }) => /\/\d+$/.test(path)).length
    return { lists: all.length - items, items }
  }
}

/** Does something when the nth page of the orders has come, before the walk has seen it. */
export function during(work: () => Promise<void> | void, nth = 1) {
  let n = 0
  return between(async ({ path }, ask) => {
    const page = await ask()
    if (path === list && ++n === nth) await work()
    return page
  })
}
