/**
 * A day of three shops on a simulated clock: they work, and their events are lost, doubled, late and out of order; a
 * listener takes a turn each minute, cron syncs each hour and reconciles at night. After each of these, everything that
 * a cursor claims is compared with the source. A second warehouse follows the same source without events.
 */
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox, type StoreChange } from '../../../src/sandbox/index.js'
import { type RunOptions, type RunReport, sync } from '../harness/runs.js'
import { type Kind, open, rowsOf, type Warehouse } from '../harness/warehouse.js'
import { HandClock } from './clocks.js'
import { EventBench } from './events.js'
import { LossyPost, type PostTally, versionOf } from './lossypost.js'
import { randomFrom } from './random.js'

const minute = 60_000

/** A change that no claim has covered yet; `updatedAt` is null if the record was deleted. */
interface Owed {
  readonly tenant: number
  readonly resource: string
  readonly id: number
  readonly updatedAt: string | null
}

export interface DayTally extends PostTally {
  changes: number
  turns: number
  runs: number
  requests: number
  /** How many claims of cursors were compared with the source, by verdict. */
  claims: Record<string, number>
}

const nameOf = ({ tenant, resource, id }: Pick<Owed, 'tenant' | 'resource' | 'id'>): string =>
  `${tenant} ${resource} ${id}`

export class EventDay {
  readonly tally: DayTally = {
    ...{ changes: 0, events: 0, dropped: 0, doubled: 0, late: 0, forged: 0, turns: 0, runs: 0, requests: 0 },
    claims: {},
  }
  readonly #post: LossyPost
  readonly #owed = new Map<string, Owed>()
  readonly #deleted = new Set<string>()
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
    const began = new Set(this.#deleted)
    const report = await this.#sync(this.hearing, { mode, beside: this.events?.beside })
    await this.#sync(this.deaf, { mode })
    await this.#compare(mode)
    if (mode === 'reconcile') await this.#compareDeletions(report, began)
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
    if (this.#owed.size > 0) throw new Error(`Owed at the end: ${[...this.#owed.keys()].join(', ')}`)
  }

  #changed(change: StoreChange): void {
    this.tally.changes += 1
    const { tenant, resource, id } = change
    const updatedAt = versionOf(this.sandbox.store, change)
    const owed = { tenant, resource, id, updatedAt }
    if (updatedAt === null) {
      this.#owed.delete(nameOf(owed))
      this.#deleted.add(nameOf(owed))
    } else {
      this.#owed.set(nameOf(owed), owed)
      this.#deleted.delete(nameOf(owed))
    }
    this.#post.changed(change, updatedAt, this.clock.micros)
  }

  get #at(): string {
    return fromMicros(this.clock.micros)
  }

  /** Everything that a cursor claims is there, and nothing that the source has is marked as deleted. */
  async #compare(when: string): Promise<void> {
    const owed = new Map<string, Owed[]>()
    for (const one of this.#owed.values()) {
      const cursor = `${one.tenant} ${one.resource}`
      owed.set(cursor, [...(owed.get(cursor) ?? []), one])
    }
    for (const cursor of await rowsOf(this.hearing, 'sync_cursors')) {
      const { tenant_id, resource, status, completeness, watermark } = cursor
      if (status !== 'ok' || completeness === 'unproven' || completeness === null) continue
      this.tally.claims[String(completeness)] = (this.tally.claims[String(completeness)] ?? 0) + 1
      const due = (owed.get(`${tenant_id} ${resource}`) ?? []).filter(
        ({ updatedAt }) => updatedAt !== null && updatedAt <= String(watermark),
      )
      if (due.length > 0) await this.#pay(due, `${this.#at}, after ${when}: ${completeness} ${watermark}`)
    }
    await this.#compareTombstones(when)
  }

  async #pay(due: readonly Owed[], claim: string): Promise<void> {
    const [{ tenant, resource } = { tenant: 0, resource: '' }] = due
    const rows = await this.hearing.db
      .selectFrom(resource as 'notes')
      .select(['id', 'updated_at'])
      .where('tenant_id', '=', tenant)
      .where(
        'id',
        'in',
        due.map(({ id }) => id),
      )
      .execute()
    const byId = new Map(rows.map((row) => [Number(row.id), row.updated_at]))
    for (const one of due) {
      const there = byId.get(one.id)
      if (there === undefined || there < (one.updatedAt ?? ''))
        throw new Error(`${claim}: ${nameOf(one)} is of ${one.updatedAt}, the warehouse has ${there}`)
      this.#owed.delete(nameOf(one))
    }
  }

  async #compareTombstones(when: string): Promise<void> {
    for (const resource of new Set([...this.#deleted].map((name) => name.split(' ')[1] ?? ''))) {
      const rows = await this.hearing.db
        .selectFrom(resource as 'notes')
        .select(['tenant_id', 'id'])
        .where('_deleted_at', 'is not', null)
        .execute()
      for (const { tenant_id: tenant, id } of rows)
        if (!this.#deleted.has(nameOf({ tenant: Number(tenant), resource, id: Number(id) })))
          throw new Error(`${this.#at}, after ${when}: ${tenant} ${resource} ${id} is marked as deleted`)
    }
  }

  /** After a reconcile, nothing is live that was deleted before it started. */
  async #compareDeletions({ cursors }: RunReport, before: ReadonlySet<string>): Promise<void> {
    const isWhole = new Set(
      cursors.flatMap(({ tenant_id, resource, completeness }) =>
        completeness === 'unproven' ? [] : [`${tenant_id} ${resource}`],
      ),
    )
    for (const name of before) {
      const [tenant = '', resource = '', id = ''] = name.split(' ')
      if (!isWhole.has(`${tenant} ${resource}`) || !this.#deleted.has(name)) continue
      const row = await this.hearing.db
        .selectFrom(resource as 'notes')
        .select('id')
        .where('tenant_id', '=', Number(tenant))
        .where('id', '=', Number(id))
        .where('_deleted_at', 'is', null)
        .executeTakeFirst()
      if (row) throw new Error(`${this.#at}, after reconcile: ${name} is live, and deleted at the source`)
    }
  }
}
