/** The source of a simulated year: five tenants whose lists change each hour. */

import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { type ApiRecord, createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { Debts } from '../oracle/owed.js'
import type { HandClock } from './clocks.js'

export const tenants = Array.from({ length: 5 }, (_, i) => i + 1)
export const lists = ['notes', 'customers', 'canned_jobs', 'inventories'] as const
export type List = (typeof lists)[number]
/** Lists that every run syncs; the others are synced every fourth hour. */
export const busy: readonly List[] = ['notes', 'customers']

/** Some lists are longer than two pages. */
const isLong = (tenant: number, list: List): boolean => list === 'notes' && tenant <= 3

export class YearSource {
  readonly debts: Debts
  readonly #buried: { tenant: number; list: List; record: ApiRecord }[] = []
  /** A field that the document doesn't show, from some day on. */
  hasColour = false
  /** Chance of a change before a request is answered. */
  motion = 0
  #nextId = 10_000
  /** Records that are stamped ahead: their next version would be older. */
  readonly #ahead = new Set<number>()
  /**
   * A record whose transaction is still open at the source: it gets its stamp now, and becomes visible in the next
   * hour.
   */
  #late: { tenant: number; list: List; at: bigint } | undefined

  private constructor(
    readonly sandbox: Sandbox,
    readonly clock: HandClock,
    private readonly random: () => number,
  ) {
    this.debts = new Debts(sandbox)
    for (const id of tenants) sandbox.store.addTenant({ id })
    for (const tenant of tenants)
      for (const list of lists) {
        const size = isLong(tenant, list) ? 240 : 20 + tenant
        for (let i = 0; i < size; i++) this.#create(tenant, list)
      }
    sandbox.onRequest(() => {
      if (random() < this.motion) this.move()
    })
  }

  static async open(clock: HandClock, random: () => number): Promise<YearSource> {
    return new YearSource(await createSandbox({ data: 'none', clock }), clock, random)
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T
  }

  /** One change of one record of any list. */
  move(): void {
    const [tenant, list] = [this.#pick(tenants), this.#pick(lists)]
    const ids = this.sandbox.store.ids(tenant, list).filter((id) => !this.#ahead.has(id))
    const chance = this.random()
    if (chance < 0.3 || ids.length < 15) this.#create(tenant, list)
    else if (chance < 0.8) this.#update(tenant, list, this.#pick(ids))
    else if (chance < 0.92) this.remove(tenant, list, this.#pick(ids))
    else this.restore()
  }

  #stored(tenant: number, list: List, fields: Readonly<Record<string, unknown>>, at: bigint): void {
    const colour = this.hasColour ? { colour: `colour ${this.debts.serial}` } : {}
    this.sandbox.store.put(tenant, list, { ...fields, ...colour, updated_at: fromMicros(at) })
  }

  #create(tenant: number, list: List): void {
    const at = this.sandbox.store.stamp()
    this.#stored(tenant, list, template(list, this.#nextId++, fromMicros(at)), at)
  }

  #update(tenant: number, list: List, id: number, at = this.sandbox.store.stamp()): void {
    const record = this.sandbox.store.stored(tenant, list, id)
    if (record) this.#stored(tenant, list, record, at)
  }

  remove(tenant: number, list: List, id: number): void {
    const record = this.sandbox.store.stored(tenant, list, id)
    if (!record) return
    this.#buried.push({ tenant, list, record })
    this.sandbox.store.remove(tenant, list, id)
  }

  /** The last deleted record comes back, with a new stamp. */
  restore(): void {
    const back = this.#buried.pop()
    if (back) this.#stored(back.tenant, back.list, back.record, this.sandbox.store.stamp())
  }

  /** A bulk change: every record of one list gets the same stamp. */
  touch(tenant: number, list: List): void {
    const at = this.sandbox.store.stamp()
    for (const id of this.sandbox.store.ids(tenant, list))
      if (!this.#ahead.has(id)) this.#update(tenant, list, id, at)
  }

  /** A record stamped hours ahead of every clock. */
  stampAhead(tenant: number, list: List, hours: number): void {
    const at = this.clock.micros + BigInt(hours) * 3_600_000_000n
    this.#ahead.add(this.#nextId)
    this.#stored(tenant, list, template(list, this.#nextId++, fromMicros(at)), at)
  }

  /**
   * Changes every record of the long lists, a few seconds apart: more than two pages and more than an overlap are new.
   */
  rewrite(): void {
    for (const tenant of tenants)
      for (const list of lists.filter((one) => isLong(tenant, one)))
        for (const id of this.sandbox.store.ids(tenant, list)) {
          this.clock.micros += 3_000_000n
          if (!this.#ahead.has(id)) this.#update(tenant, list, id)
        }
  }

  /** A transaction that gets its stamp a minute before the run and commits when the run is over. */
  #beginLate(until: bigint): void {
    if (this.random() > 0.2) return
    const [tenant, list] = [this.#pick(tenants), this.#pick(lists)]
    const minute = until - 60_000_000n
    if (this.clock.micros < minute) this.clock.micros = minute
    this.#late = { tenant, list, at: this.sandbox.store.stamp() }
    // The run's watermark moves past the stamp.
    this.clock.micros += 30_000_000n
    this.#create(tenant, list)
  }

  #commitLate(): void {
    if (!this.#late) return
    const { tenant, list, at } = this.#late
    this.#late = undefined
    this.#stored(tenant, list, template(list, this.#nextId++, fromMicros(at)), at)
  }

  /** An hour of work, spread over the hour. */
  work(until: bigint): void {
    this.sandbox.resetRequests()
    this.#commitLate()
    const changes = Math.floor(this.random() * 9)
    for (let i = 0; i < changes; i++) {
      const left = until - this.clock.micros
      this.clock.micros += (left * BigInt(Math.floor(this.random() * 1000))) / 2000n
      this.move()
    }
    this.#beginLate(until)
    if (this.clock.micros < until) this.clock.micros = until
  }
}
