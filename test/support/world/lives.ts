/**
 * Lives of orders whose services move, at a source and in a warehouse that follows it: orders are merged, split,
 * deleted and restored, backups are restored, stamps are ahead, ids occur twice, while runs come and go. Whatever the
 * life was, a sync and a reconcile leave the warehouse equal to the source. Knows nothing of how the product finds out.
 */
import fc from 'fast-check'
import { expect } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { type Sandbox, transfer } from '../../../src/sandbox/index.js'
import { type RunReport, sync } from '../harness/runs.js'
import { statusOf } from '../harness/status.js'
import { rowsOf, type Warehouse } from '../harness/warehouse.js'
import { expectOracle } from '../oracle/business/stored.js'
import { compare, expected } from '../oracle/cells.js'
import { HandClock } from './clocks.js'
import { hazmat, labor, order, part, sublet } from './orders.js'
import { wipe } from './through.js'

const orders = 'repair_orders'
/** Both have orders and services with the same ids. */
const tenants = [7, 8] as const
const minute = 60_000

type Service = Readonly<Record<string, unknown>> & { readonly id: number }
interface Order {
  readonly id: number
  readonly updated_at: string
  readonly services: readonly Service[]
}

/**
 * A step in words. Numbers are positions among the existing orders, from 0, modulo their number: `move 2 3 x3` moves three
 * services, with `to` it stamps the receiving order only. `pass 90` lets minutes pass. `delete 1 @4` happens before the
 * fourth request of the next run is answered, and `#8` at the other tenant. Without a backup before it, a rewind goes back
 * to when there was only half of the orders.
 */
type Step = string

export interface Life {
  /** Orders of each tenant at the start. */
  readonly size: number
  readonly steps: readonly Step[]
}

const runs = ['sync', 'full', 'reconcile', 'backfill'] as const
type Run = (typeof runs)[number]
/** These could remove the only sign that an order has lost a service without a new stamp. */
const destroying = ['give-up', 'empty', 'delete', 'merge', 'rewind']

function parsed(step: Step) {
  const [what = '', ...words] = step.split(' ')
  const after = (sign: string): number | undefined => {
    const word = words.find((one) => one.startsWith(sign))
    return word === undefined ? undefined : Number(word.slice(1))
  }
  const [from = 0, to = 0] = words.filter((word) => /^\d+$/.test(word)).map(Number)
  const is = (word: string): boolean => words.includes(word)
  return { what, from, to, n: after('x') ?? 1, request: after('@'), tenant: after('#') ?? 7, is }
}
type Parsed = ReturnType<typeof parsed>

/** The clock of program and source, which the life moves. */
export const lifeClock = (): HandClock => new HandClock('2026-03-01T12:00:00Z', 7n)

interface Place {
  readonly sandbox: Sandbox
  readonly clock: HandClock
  readonly warehouse: Warehouse
  readonly model: Model
}

const services = (id: number): Record<string, unknown>[] =>
  [1, 2, 3].slice(0, 1 + (id % 3)).map((i) => ({
    id: id * 10 + i,
    labors: [{ ...labor(1 + i / 4), id: id * 1000 + i }],
    parts: [{ ...part(i, 1000 + id), id: id * 1000 + i }],
    sublets: i === 2 ? [{ ...sublet(500), id: id * 1000 + i }] : [],
    hazmats: i === 3 ? [{ ...hazmat(1, 70), id: id * 1000 + i }] : [],
  }))

/** Plays lives one after the other. */
export class Living {
  /** Steps that wait for a request of the next run. */
  #deferred: Parsed[] = []
  /**
   * Services that left an order without giving it a new stamp, by tenant: once their new order is gone, nothing else
   * will show it.
   */
  readonly #pending = new Map<number, Set<number>>()

  constructor(private readonly place: Place) {}

  async play({ size, steps }: Life): Promise<void> {
    const { sandbox, warehouse, clock } = this.place
    sandbox.reset()
    this.#pending.clear()
    this.#backups.clear()
    await wipe(warehouse)
    clock.pass(100 * minute)
    for (const tenant of tenants) {
      sandbox.store.addTenant({ id: tenant })
      for (let id = 1; id <= size; id++) {
        const updated_at = fromMicros(clock.nowMicros())
        sandbox.store.put(tenant, orders, { ...order(id, services(id), {}), updated_at })
        clock.pass(minute)
        if (id === Math.ceil(size / 2)) this.#change(parsed(`backup #${tenant}`))
      }
    }
    for (const step of steps) await this.#step(parsed(step))
    await this.end()
  }

  /** A sync and a plain reconcile, after which the warehouse equals the source. */
  async end(): Promise<void> {
    const { clock } = this.place
    this.#deferred = []
    clock.pass(200 * minute)
    await this.run('sync')
    const report = await this.run('reconcile')
    expect(report.cursors.map(({ status, error }) => [status, error])).toEqual(
      tenants.map(() => ['ok', null]),
    )
    await this.expectEqual()
    clock.pass(200 * minute)
    const { sandbox } = this.place
    sandbox.resetRequests()
    await this.run('sync')
    expect(sandbox.requests.filter(({ id }) => id !== null)).toEqual([])
    await this.expectEqual()
  }

  async expectEqual(): Promise<void> {
    const { sandbox, warehouse, clock } = this.place
    await compare(warehouse, expected(sandbox))
    // The oracle knows the stored lines only. An order that was deleted keeps its gap, and nothing else tells of it: what
    // was in quarantine for it has gone.
    const bad = await rowsOf(warehouse, 'sync_quarantine')
    const totals = await rowsOf(warehouse, 'repair_order_totals')
    const hasGaps = totals.some((row) => row._deleted_at !== null && Number(row.lines_in_quarantine) > 0)
    if (bad.length === 0 && !hasGaps) await expectOracle(warehouse)
    const status = await statusOf(sandbox, warehouse, { nowMicros: clock.nowMicros(), resources: [orders] })
    const shared = status.tenants.map(({ tenant_id, shared_services }) => [tenant_id, shared_services])
    expect(shared).toEqual(tenants.map((tenant) => [tenant, this.#sharedAt(tenant)]))
  }

  /** Services that more than one order of the source shows. */
  #sharedAt(tenant: number): number {
    const shown = this.#all(tenant).flatMap(({ services: own }) => [...new Set(own.map(({ id }) => id))])
    return new Set(shown.filter((id, i) => shown.indexOf(id) !== i)).size
  }

  async run(mode: Run): Promise<RunReport> {
    const { sandbox, warehouse, clock, model } = this.place
    const waiting = this.#deferred
    this.#deferred = []
    let request = 0
    const removeHook = sandbox.onRequest(({ resource }) => {
      if (resource !== orders) return
      request += 1
      for (const step of waiting) if (step.request === request) this.#change(step)
    })
    const whole = [{ from: '2026-03-01T00:00:00.000000Z', to: fromMicros(clock.nowMicros()) }]
    const ranges = mode === 'backfill' ? whole : undefined
    const options = { known: model, clock, concurrency: 1, resources: [orders], acceptDeletes: true, ranges }
    const report = await sync(sandbox, warehouse, { ...options, mode })
    removeHook()
    // What was meant for the middle of the run happens after it at the latest.
    for (const step of waiting) if ((step.request ?? 0) > request) this.#change(step)
    if (waiting.length === 0) this.#pending.clear()
    return report
  }

  async #step(step: Parsed): Promise<void> {
    const { what, from, request } = step
    const run = runs.find((one) => one === what)
    if (run) await this.run(run)
    else if (what === 'pass') this.place.clock.pass(from * minute)
    else if (request !== undefined) this.#deferred.push(step)
    else {
      const isOnlySign = destroying.includes(what) && [...this.#pending.values()].some(({ size }) => size > 0)
      if (isOnlySign) await this.run('sync')
      this.#change(step)
    }
  }

  #all(tenant: number): Order[] {
    const all = this.place.sandbox.store.all(tenant, orders) as unknown as Order[]
    return all.sort((a, b) => a.id - b.id)
  }

  #change(step: Parsed): void {
    const { what, tenant, is } = step
    const { store } = this.place.sandbox
    const collection = store.collection(tenant, orders)
    const all = this.#all(tenant)
    const [one, other] = [step.from, step.to].map((at) => all[at % all.length])
    this.place.clock.pass(1000)
    if (what === 'backup') this.#backups.set(tenant, collection.backup())
    else if (what === 'rewind') collection.restore(this.#backups.get(tenant) ?? [])
    else if (what === 'undelete') this.#undelete(tenant, is('stamp'))
    else if (!one) return
    else if (!['move', 'merge', 'share'].includes(what)) this.#changeOne(step, one)
    else if (other && one !== other) this.#changeTwo(step, one, other)
  }

  readonly #backups = new Map<number, ReturnType<ReturnType<Sandbox['store']['collection']>['backup']>>()

  #undelete(tenant: number, isStamped: boolean): void {
    const { store } = this.place.sandbox
    const { buried } = store.tenant(tenant)
    const index = buried.findLastIndex(({ resource }) => resource === orders)
    const [found] = index < 0 ? [] : buried.splice(index, 1)
    if (!found || store.get(tenant, orders, found.entry.key)) return
    store.putText(tenant, orders, found.entry.text, found.entry.key, found.entry.micros)
    if (isStamped) store.change(tenant, orders, found.entry.key, {})
  }

  #changeTwo({ what, n, tenant, is }: Parsed, from: Order, to: Order): void {
    const { store } = this.place.sandbox
    const ids = { from: from.id, to: to.id }
    const [first] = from.services
    if (what === 'share') {
      if (!first || to.services.some(({ id }) => id === first.id)) return
      this.#show(tenant, to, first, is('equal'))
    } else if (what === 'merge') {
      transfer(store, tenant, orders, { ...ids, n: from.services.length, stamps: 'both' })
      if (is('deletes')) store.remove(tenant, orders, from.id)
    } else {
      const pending = this.#pending.get(tenant) ?? new Set()
      if (is('to')) for (const { id } of from.services.slice(0, n)) pending.add(id)
      this.#pending.set(tenant, pending)
      transfer(store, tenant, orders, { ...ids, n, stamps: is('to') ? 'to' : 'both' })
    }
  }

  #changeOne({ what, tenant, is }: Parsed, one: Order): void {
    const { store } = this.place.sandbox
    const [first, ...rest] = one.services
    const change = (fields: object, at?: bigint) => store.change(tenant, orders, one.id, { ...fields }, at)
    if (what === 'give-up') change({ services: rest })
    else if (what === 'empty') change({ services: [] })
    else if (what === 'edit') change({ detail: `edited ${store.stamp()}` })
    else if (what === 'ahead') change({ detail: 'ahead' }, this.place.clock.nowMicros() + 3_600_000_000n)
    else if (what === 'delete') store.remove(tenant, orders, one.id)
    else if (what !== 'twice') throw new Error(`${what} is no step of a life`)
    else if (first) this.#show(tenant, one, first, is('equal'))
  }

  /** An order shows a service as well. */
  #show(tenant: number, { id, services: own }: Order, service: Service, isEqual: boolean): void {
    const shown = isEqual ? service : { ...service, title: 'another' }
    this.place.sandbox.store.change(tenant, orders, id, { services: [...own, shown] })
  }
}

const place = fc.nat({ max: 200 }).map(String)
const maybe = (...words: string[]): fc.Arbitrary<string> => fc.constantFrom('', ...words)
/** Steps of these words, so many among the others. */
const some = (weight: number, ...words: (string | fc.Arbitrary<string>)[]) => ({
  weight,
  arbitrary: fc.tuple(...words.map((one) => (typeof one === 'string' ? fc.constant(one) : one))).map(joined),
})
const joined = (words: readonly string[]): Step => words.filter((word) => word !== '').join(' ')

const step = (isStamped: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    some(6, 'move', place, place, fc.constantFrom('x1', 'x2', 'x3'), isStamped ? '' : maybe('to', 'to')),
    some(2, 'merge', place, place, maybe('deletes')),
    some(4, fc.constantFrom('give-up', 'empty', 'edit', 'ahead', 'delete'), place),
    some(1, 'twice', place, maybe('equal')),
    some(1, 'share', place, place, maybe('equal')),
    some(2, 'undelete', maybe('stamp')),
    some(isStamped ? 2 : 0, fc.constantFrom('backup', 'rewind')),
    some(2, 'pass', fc.constantFrom('0', '1', '10', '90')),
    some(5, fc.constantFrom('sync', 'sync', 'sync', 'reconcile', 'full', 'backfill')),
  )

/**
 * Random lives. If every order that loses a service gets a new stamp, backups may be restored. If some don't, they may
 * not: content that changes under the same `updated_at` comes and goes, and no service shows it.
 */
export function lives(
  isStamped: boolean,
  [min, max]: readonly [number, number],
  most: number,
): fc.Arbitrary<Life> {
  const request = isStamped ? fc.option(fc.integer({ min: 1, max: 6 }), { freq: 4 }) : fc.constant(null)
  const steps = fc
    .tuple(
      step(isStamped),
      maybe('#8'),
      request.map((at) => (at === null ? '' : `@${at}`)),
    )
    .map(joined)
  return fc.record({
    size: fc.integer({ min, max }),
    steps: fc.array(steps, { minLength: 3, maxLength: most, size: 'max' }),
  })
}
