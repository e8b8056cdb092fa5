/**
 * A day of three shops on a simulated clock: they work, and their events are lost, doubled, late and out of order; a
 * listener takes a turn each minute, cron syncs each hour and reconciles at night. After each of these, everything that
 * a cursor claims is compared with the source. A second warehouse follows the same source without events.
 */
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox, type StoreChange } from '../../../src/sandbox/index.js'
import { type RunOptions, type RunReport, sync } from '../harness/runs.js'
import { type Kind, open, rowsOf, type Warehouse } from '../harness/warehouse.js'
import { Debts, versionOf } from '../oracle/owed.js'
import { HandClock } from './clocks.js'
import { EventBench } from './events.js'
import { LossyPost, type PostTally } from './lossypost.js'
import { randomFrom } from './random.js'

const minute = 60_000

export interface DayTally extends PostTally {
  changes: number
  turns: number
  runs: number
  requests: number
  /** How many claims of cursors were compared with the source, by verdict. */
  claims: Record<string, number>
}

export class EventDay {
  readonly tally: DayTally = {
    ...{ changes: 0, events: 0, dropped: 0, doubled: 0, late: 0, forged: 0, turns: 0, runs: 0, requests: 0 },
    claims: {},
  }
  readonly #post: LossyPost
  readonly #debts: Debts
  #motion = 0

  private constructor(
    readonly clock: HandClock,
    readonly sandbox: Sandbox,
    readonly hearing: Warehouse,
    readonly deaf: Warehouse,
    readonly events: EventBench,
    private readonly random: () => number,
  ) {
    this.#post = new LossyPost(random, this.tally)
    this.#debts = new Debts(sandbox)
    sandbox.store.onChange((change) => this.#changed(change))
    sandbox.onRequest(() => {
      if (this.random() < this.#motion) sandbox.work(1)
    })
  }

  static async open(kind: Kind, seed: number): Promise<EventDay> {
    const clock = new HandClock('2026-03-02T00:00:00Z', 1n)
    const sandbox = await createSandbox({ tenants: 3, repairOrders: 40, seed, clock })
    const [hearing, deaf] = [await open(kind), await open(kind)]
    const events = await EventBench.open(sandbox, hearing, clock.still)
    const day = new EventDay(clock, sandbox, hearing, deaf, events, randomFrom(seed))
    await day.#cron('sync')
    return day
  }

  async close(): Promise<void> {
    await this.events.inbox.close()
    await this.hearing.close()
    await this.deaf.close()
    await this.sandbox.close()
  }

  get #now(): number {
    return Number(this.clock.micros / 1000n)
  }

  /** Lets so many hours pass. */
  async run(hours: number): Promise<void> {
    this.#motion = 0.02
    for (let at = 1; at <= hours * 60; at++) {
      const things = Math.floor(this.random() * 3)
      for (let i = 0; i < things; i++) {
        this.clock.pass((this.random() * minute) / 3)
        this.sandbox.work(1)
      }
      await this.#minute()
      if (at % 60 === 0) await this.#cron('sync')
      if (at % (24 * 60) === 3 * 60) await this.#cron('reconcile')
    }
    this.#motion = 0
    // What is still on its way arrives, and what is still being looked for is found or given up.
    for (let at = 0; at < 60; at++) await this.#minute()
  }

  /** The end of a minute: what has arrived by then is in the inbox, and the listener takes its turn. */
  async #minute(): Promise<void> {
    this.clock.micros = BigInt((Math.floor(this.#now / minute) + 1) * minute) * 1000n
    await this.#post.deliver(this.events.inbox, this.hearing, this.#now)
    await this.events.turn()
    this.tally.turns += 1
    await this.#compare('a turn')
  }

  async #cron(mode: 'sync' | 'reconcile'): Promise<void> {
    const began = this.#debts.serial
    const report = await this.#sync(this.hearing, { mode, beside: this.events?.beside })
    await this.#sync(this.deaf, { mode })
    await this.#compare(mode)
    if (mode !== 'reconcile') return
    // Nothing is live that was deleted before it started.
    for (const { tenant_id, resource, completeness } of report.cursors)
      if (completeness !== 'unproven')
        await this.#debts.settle(this.hearing, {
          tenant: Number(tenant_id),
          resource,
          covers: ({ updatedAt, serial }) => updatedAt === null && serial <= began,
          says: `${this.#at}: a whole ${mode}`,
        })
  }

  async #sync(warehouse: Warehouse, { beside, ...options }: Partial<RunOptions>): Promise<RunReport> {
    const report = await sync(this.sandbox, warehouse, {
      ...{ clock: this.clock.still, ...options },
      ...(beside && { beside }),
    })
    if (report.status !== 'ok') throw new Error(`${this.#at}: ${JSON.stringify(report)}`)
    this.tally.runs += 1
    this.tally.requests += report.requests
    return report
  }

  /** The last sync and the full reconcile. */
  async end(): Promise<void> {
    for (const warehouse of [this.hearing, this.deaf]) {
      await this.#sync(warehouse, { mode: 'sync' })
      await this.#sync(warehouse, { mode: 'reconcile', full: true })
    }
    await this.#compare('the end')
    const { unclaimed } = this.#debts
    if (unclaimed.length > 0) throw new Error(`Owed at the end: ${unclaimed.join(', ')}`)
  }

  #changed(change: StoreChange): void {
    this.tally.changes += 1
    this.#post.changed(change, versionOf(this.sandbox.store, change), this.clock.micros)
  }

  get #at(): string {
    return fromMicros(this.clock.micros)
  }

  /** Everything that a cursor claims is there, and nothing that the source has is marked as deleted. */
  async #compare(when: string): Promise<void> {
    for (const cursor of await rowsOf(this.hearing, 'sync_cursors')) {
      const { tenant_id, resource, status, completeness, watermark } = cursor
      if (status !== 'ok' || completeness === 'unproven' || completeness === null) continue
      this.tally.claims[String(completeness)] = (this.tally.claims[String(completeness)] ?? 0) + 1
      await this.#debts.settle(this.hearing, {
        tenant: Number(tenant_id),
        resource: String(resource),
        covers: ({ updatedAt }) => updatedAt !== null && updatedAt <= String(watermark),
        says: `${this.#at}, after ${when}: ${completeness} ${watermark}`,
      })
    }
    await this.#debts.checkMarks(this.hearing, `${this.#at}, after ${when}`)
  }
}
