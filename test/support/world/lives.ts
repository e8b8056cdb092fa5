/**
 * Lives of orders whose services move, at a source and in a warehouse that follows it: orders are merged, split,
 * deleted and restored, backups are restored, stamps are ahead, ids occur twice, while runs come and go. Whatever the
 * life was, a sync and a reconcile leave the warehouse equal to the source. Knows nothing of how the product finds out.
 */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { parseInstant, type Sandbox, transfer } from '../../../src/sandbox/index.js'
import { type RunOptions, type RunReport, sync } from '../harness/runs.js'
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

interface Pair {
  readonly from: number
  readonly to: number
}

/** `of`, `from`, `to` are positions among the existing orders, from 0, modulo their number. */
export type Step =
  | ({ readonly do: 'move'; readonly n: number; readonly stamps: 'both' | 'to' } & Pair)
  | ({ readonly do: 'merge'; readonly deletes: boolean } & Pair)
  | { readonly do: 'give up' | 'empty' | 'edit' | 'ahead' | 'delete'; readonly of: number }
  | { readonly do: 'twice'; readonly of: number; readonly equal: boolean }
  | ({ readonly do: 'share'; readonly equal: boolean } & Pair)
  | { readonly do: 'undelete'; readonly stamp: boolean }
  /** Without a backup before it, a rewind goes back to when there was only half of the orders. */
  | { readonly do: 'backup' | 'rewind' }
  | { readonly do: 'pass'; readonly minutes: number }
  | { readonly do: 'run'; readonly mode: 'sync' | 'full' | 'reconcile' | 'backfill' }

/** A step of one tenant; with `request`, it happens before that request of the next run is answered. */
export type LifeStep = Step & { readonly tenant?: 7 | 8; readonly request?: number }

export interface Life {
  /** Orders of each tenant at the start. */
  readonly size: number
  readonly steps: readonly LifeStep[]
}

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
  #deferred: LifeStep[] = []
  #removeHook: (() => void) | undefined
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
        const { services: made, ...rest } = order(id, services(id), {})
        sandbox.store.put(tenant, orders, { ...rest, services: made, updated_at: this.#now() })
        clock.pass(minute)
        if (id === Math.ceil(size / 2)) this.#change({ do: 'backup', tenant })
      }
    }
    for (const step of steps) await this.#step(step)
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
    const holders = new Map<number, number>()
    for (const { services: all } of this.#all(tenant))
      for (const id of new Set(all.map((service) => service.id))) holders.set(id, (holders.get(id) ?? 0) + 1)
    return [...holders.values()].filter((n) => n > 1).length
  }

  async run(mode: 'sync' | 'full' | 'reconcile' | 'backfill', full = false): Promise<RunReport> {
    const { sandbox, warehouse, clock, model } = this.place
    const waiting = this.#deferred
    this.#deferred = []
    let request = 0
    this.#removeHook = sandbox.onRequest(({ resource }) => {
      if (resource !== orders) return
      request += 1
      for (const step of waiting) if (step.request === request) this.#change(step)
    })
    const options: RunOptions = { known: model, clock, concurrency: 1, resources: [orders] }
    const ranges = [{ from: '2026-03-01T00:00:00.000000Z', to: this.#now() }]
    const report = await sync(sandbox, warehouse, {
      ...options,
      mode,
      full,
      acceptDeletes: true,
      ...(mode === 'backfill' && { ranges }),
    })
    this.#removeHook()
    // What was meant for the middle of the run happens after it at the latest.
    for (const step of waiting) if ((step.request ?? 0) > request) this.#change(step)
    if (waiting.length === 0) this.#pending.clear()
    return report
  }

  async #step(step: LifeStep): Promise<void> {
    if (step.do === 'run') await this.run(step.mode)
    else if (step.do === 'pass') this.place.clock.pass(step.minutes * minute)
    else if (step.request !== undefined) this.#deferred.push(step)
    else {
      if (this.#takesProof(step)) await this.run('sync')
      this.#change(step)
    }
  }

  /** Whether the step could remove the only sign that an order has lost a service without a new stamp. */
  #takesProof(step: Step): boolean {
    const destroys = ['give up', 'empty', 'delete', 'merge', 'rewind'].includes(step.do)
    return destroys && [...this.#pending.values()].some((ids) => ids.size > 0)
  }

  #now(): string {
    return new Date(Number(this.place.clock.nowMicros() / 1000n)).toISOString().replace('Z', '000Z')
  }

  #all(tenant: number): Order[] {
    const all = this.place.sandbox.store.all(tenant, orders) as unknown as Order[]
    return all.sort((a, b) => a.id - b.id)
  }

  #change(step: LifeStep): void {
    const { sandbox, clock } = this.place
    const { store } = sandbox
    const tenant = step.tenant ?? 7
    const all = this.#all(tenant)
    const at = (place: number): Order | undefined => all[place % all.length]
    const put = (one: Order, more: Partial<Order>): void => {
      store.change(tenant, orders, one.id, more)
    }
    clock.pass(1000)
    switch (step.do) {
      case 'move': {
        const [from, to] = [at(step.from), at(step.to)]
        if (!from || !to || from === to) return
        if (step.stamps === 'to') {
          const ids = this.#pending.get(tenant) ?? new Set()
          this.#pending.set(tenant, ids)
          for (const { id } of from.services.slice(0, step.n)) ids.add(id)
        }
        transfer(store, tenant, orders, { ...step, from: from.id, to: to.id })
        return
      }
      case 'merge': {
        const [from, to] = [at(step.from), at(step.to)]
        if (!from || !to || from === to) return
        transfer(store, tenant, orders, { from: from.id, to: to.id, n: from.services.length, stamps: 'both' })
        if (step.deletes) store.remove(tenant, orders, from.id)
        return
      }
      case 'share': {
        const [from, to] = [at(step.from), at(step.to)]
        const [first] = from?.services ?? []
        if (!to || !first || from === to || to.services.some(({ id }) => id === first.id)) return
        put(to, { services: [...to.services, step.equal ? first : { ...first, title: 'another' }] })
        return
      }
      case 'undelete': {
        const index = store.tenant(tenant).buried.findLastIndex(({ resource }) => resource === orders)
        const [found] = index < 0 ? [] : store.tenant(tenant).buried.splice(index, 1)
        if (!found || store.get(tenant, orders, found.entry.key)) return
        store.putText(tenant, orders, found.entry.text, found.entry.key, found.entry.micros)
        if (step.stamp) store.change(tenant, orders, found.entry.key, {})
        return
      }
      case 'backup':
        this.#backups.set(tenant, store.collection(tenant, orders).backup())
        return
      case 'rewind': {
        const backup = this.#backups.get(tenant)
        if (backup) store.collection(tenant, orders).restore(backup)
        return
      }
      case 'pass':
      case 'run':
        return
      default:
        this.#changeOne(step, at(step.of), put, tenant)
        return
    }
  }

  readonly #backups = new Map<number, ReturnType<ReturnType<Sandbox['store']['collection']>['backup']>>()

  #changeOne(
    step: Extract<Step, { readonly of: number }>,
    one: Order | undefined,
    put: (one: Order, more: Partial<Order>) => void,
    tenant: number,
  ): void {
    const { store } = this.place.sandbox
    if (!one) return
    switch (step.do) {
      case 'give up':
        put(one, { services: one.services.slice(1) })
        return
      case 'empty':
        put(one, { services: [] })
        return
      case 'edit':
        put(one, { detail: `edited ${store.stamp()}` } as never)
        return
      case 'ahead': {
        const ahead = parseInstant(this.#now())! + 3_600_000_000n
        store.change(tenant, orders, one.id, { detail: 'ahead' }, ahead)
        return
      }
      case 'delete':
        store.remove(tenant, orders, one.id)
        return
      case 'twice': {
        const [first] = one.services
        if (!first) return
        put(one, { services: [...one.services, step.equal ? first : { ...first, title: 'another' }] })
        return
      }
    }
  }
}

const place = fc.nat({ max: 200 })
const flag = fc.boolean()
const pair = { from: place, to: place }
const modes = ['sync', 'sync', 'sync', 'reconcile', 'full', 'backfill'] as const
/** Steps of these kinds, so many among the others. */
const some = <const K extends Step['do'], T extends object>(
  weight: number,
  kinds: readonly K[],
  fields: { [N in keyof T]: fc.Arbitrary<T[N]> },
) => ({ weight, arbitrary: fc.record({ do: fc.constantFrom(...kinds), ...fields }) as fc.Arbitrary<Step> })

const step = (isStamped: boolean): fc.Arbitrary<Step> => {
  const stamps = fc.constantFrom<('both' | 'to')[]>(
    ...(isStamped ? ['both' as const] : ['both' as const, 'to' as const, 'to' as const]),
  )
  return fc.oneof(
    some(6, ['move'], { ...pair, n: fc.integer({ min: 1, max: 3 }), stamps }),
    some(2, ['merge'], { ...pair, deletes: flag }),
    some(4, ['give up', 'empty', 'edit', 'ahead', 'delete'], { of: place }),
    some(1, ['twice'], { of: place, equal: flag }),
    some(1, ['share'], { ...pair, equal: flag }),
    some(2, ['undelete'], { stamp: flag }),
    ...(isStamped ? [some(2, ['backup', 'rewind'], {})] : []),
    some(2, ['pass'], { minutes: fc.constantFrom(0, 1, 10, 90) }),
    some(5, ['run'], { mode: fc.constantFrom(...modes) }),
  )
}

/**
 * A life in words. `pass` is 90 minutes, `move 2 3 x3` moves three services, `to` stamps the receiving order only, and
 * `delete 1 @4` happens before the fourth request of the next run is answered.
 */
export const lifeOf = (text: string): LifeStep[] => text.split(', ').map(stepOf)

function stepOf(text: string): LifeStep {
  const [what = '', ...given] = text.split(' ')
  const [from = 0, to = 0] = given.filter((word) => /^\d+$/.test(word)).map(Number)
  const number = (sign: string): number | undefined => {
    const word = given.find((one) => one.startsWith(sign) && /\d$/.test(one))
    return word === undefined ? undefined : Number(word.slice(1))
  }
  const is = (word: string): boolean => given.includes(word)
  if (what === 'sync' || what === 'reconcile') return { do: 'run', mode: what }
  if (what === 'pass') return { do: 'pass', minutes: from || 90 }
  const request = number('@')
  const fields = {
    from,
    to,
    of: from,
    n: number('x') ?? 1,
    stamps: is('to') ? 'to' : 'both',
    deletes: is('deletes'),
    equal: is('equal'),
    stamp: is('stamp'),
    ...(request !== undefined && { request }),
  }
  return { do: what.replace('-', ' '), ...fields } as LifeStep
}

/**
 * Random lives. If every order that loses a service gets a new stamp, backups may be restored. If some don't, they may
 * not: content that changes under the same `updated_at` comes and goes, and no service shows it.
 */
export const lives = (
  isStamped: boolean,
  sizes: readonly [number, number],
  most: number,
): fc.Arbitrary<Life> =>
  fc.record({
    size: fc.integer({ min: sizes[0], max: sizes[1] }),
    steps: fc.array(
      fc
        .tuple(
          step(isStamped),
          fc.constantFrom(7 as const, 8 as const),
          fc.option(fc.integer({ min: 1, max: 6 }), { freq: 4 }),
        )
        .map(
          ([one, tenant, request]): LifeStep => ({
            ...one,
            tenant,
            ...(isStamped && request !== null && { request }),
          }),
        ),
      { minLength: 3, maxLength: most, size: 'max' },
    ),
  })
