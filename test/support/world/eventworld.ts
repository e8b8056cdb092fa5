/** A source whose events are put into an inbox by hand, a synced warehouse, and a clock that the test moves. */
import { addMicros, canonical, fromMicros } from '../../../src/engine/base/timestamp.js'
import type { TurnEnd } from '../../../src/features/events/turn.js'
import {
  type ApiRecord,
  createSandbox,
  type Sandbox,
  type SandboxOptions,
} from '../../../src/sandbox/index.js'
import type { Address } from '../harness/place.js'
import { type RunOptions, sync } from '../harness/runs.js'
import { type Kind, reopen, rowsOf, type Warehouse } from '../harness/warehouse.js'
import { HandClock } from './clocks.js'
import { EventBench, type TestEvent } from './events.js'

export const minute = 60_000
export const list = 'repair_orders'
export const resources = [list, 'payments', 'customers']

export class EventWorld {
  private constructor(
    readonly clock: HandClock,
    readonly sandbox: Sandbox,
    readonly address: Address,
    readonly warehouse: Warehouse,
    readonly events: EventBench,
  ) {}

  static async open(kind: Kind, options: SandboxOptions = {}, runs: RunOptions = {}): Promise<EventWorld> {
    // A tick, so that no two stamps are equal.
    const clock = new HandClock(new Date().toISOString(), 1n)
    const sandbox = await createSandbox({ tenants: 2, repairOrders: 12, seed: 5, clock, ...options })
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    const events = await EventBench.open(sandbox, warehouse, clock.still)
    const world = new EventWorld(clock, sandbox, address, warehouse, events)
    const report = await world.sync(runs)
    if (report.status !== 'ok') throw new Error(`The first sync is ${report.status}`)
    sandbox.resetRequests()
    return world
  }

  async close(): Promise<void> {
    await this.events.inbox.close()
    await this.warehouse.close()
    await this.sandbox.close()
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

  sync(options: RunOptions = {}) {
    return sync(this.sandbox, this.warehouse, { clock: this.clock.still, resources, ...options })
  }

  turn(options: RunOptions = {}): Promise<TurnEnd> {
    return this.events.turn(options)
  }

  put(event: Omit<TestEvent, 'tenant' | 'resource'> & Partial<TestEvent>): Promise<void> {
    return this.events.put({ tenant: this.tenant, resource: list, ...event })
  }

  /** Changes an order at the source; returns its new `updated_at`. */
  change(id: number, fields: Record<string, unknown> = { detail: 'changed' }): string {
    this.sandbox.store.change(this.tenant, list, id, fields)
    return this.version(id)
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

  async row(id: number): Promise<Record<string, unknown> | undefined> {
    const rows = await rowsOf(this.warehouse, list)
    return rows.find((one) => Number(one.id) === id && Number(one.tenant_id) === this.tenant)
  }

  async cursor(resource = list): Promise<Record<string, unknown> | undefined> {
    const rows = await rowsOf(this.warehouse, 'sync_cursors')
    return rows.find((one) => Number(one.tenant_id) === this.tenant && one.resource === resource)
  }

  /** Requests since the last call: for lists, and by id. */
  requests(): { readonly lists: number; readonly items: number } {
    const all = this.sandbox.requests.filter(({ path }) => !path.includes('authorizations'))
    this.sandbox.resetRequests()
    const items = all.filter(({ path }) => /\/\d+$/.test(path)).length
    return { lists: all.length - items, items }
  }
}
