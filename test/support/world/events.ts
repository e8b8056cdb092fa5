/** An inbox into which the tests put events and listeners as a receiver would, and a listener's turns. Doesn't use vitest. */
import type { Insertable } from 'kysely'
import { type Clock, systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { RowsOf } from '../../../src/engine/model/statetable.js'
import type { BesideWork } from '../../../src/engine/run/runcontext.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { besideRuns } from '../../../src/features/events/beside.js'
import { dueCursors, settleEvents, waitingOf } from '../../../src/features/events/events.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import { Listener } from '../../../src/features/events/listener.js'
import { RingMemory, type RingSettings } from '../../../src/features/events/ringmemory.js'
import type { eventTables } from '../../../src/features/events/tables.js'
import { type TurnEnd, takeTurn } from '../../../src/features/events/turn.js'
import { judgeUnannounced } from '../../../src/features/events/unannounced.js'
import { Announcements, type InboxNeeds } from '../../../src/features/targets/announced.js'
import { countingDelays } from '../../../src/features/targets/delays.js'
import { closedAfterwards } from '../harness/afterwards.js'
import { depsOf, type RunOptions, type Target } from '../harness/runs.js'

type Rows = RowsOf<typeof eventTables>
type EventRow = Insertable<Rows['sync_events']>
type ListenerRow = Insertable<Rows['sync_listeners']>

const ringSettings: RingSettings = { settle: 0, requestShare: 0.5 }

export interface TestEvent {
  readonly tenant: number
  readonly resource: string
  readonly id: number
  readonly action?: 'created' | 'updated' | 'deleted'
  readonly type?: string
  readonly version?: string | null
}

export class EventBench {
  memory = new RingMemory()
  settings = ringSettings
  /** Whether turns count delays by the settings' targets, as a listener's do. */
  countsDelays = false
  #number = 0

  private constructor(
    readonly inbox: Inbox,
    private readonly sandbox: Target,
    private readonly warehouse: Writer,
    private readonly clock: Clock,
  ) {}

  static async open(sandbox: Target, warehouse: Writer, clock: Clock = systemClock): Promise<EventBench> {
    return new EventBench(closedAfterwards(await Inbox.open(warehouse, { clock })), sandbox, warehouse, clock)
  }

  /** For runs that ring alongside their plan. */
  get beside(): BesideWork {
    const config = { sync: { tenants: 'all', exceptTenants: [], resources: 'all' } }
    return besideRuns(config as never, this.inbox, this.settings, this.memory)
  }

  /** For runs that settle what waits, and ring nothing. */
  get settling(): BesideWork {
    return { ...this.beside, during: () => ({ [Symbol.asyncDispose]: async () => {} }) }
  }

  async put(event: TestEvent): Promise<void> {
    await this.putAll([event])
  }

  putAll(events: readonly TestEvent[]): Promise<void> {
    const at = fromMicros(this.clock.nowMicros())
    return this.putRows(
      events.map(({ tenant, resource, id, action = 'updated', type = 'RepairOrder', version = null }) => ({
        tenant_id: tenant,
        resource,
        type,
        action,
        record_id: id,
        version,
        received_at: at,
        due_at: at,
      })),
    )
  }

  /** Rows as whoever received or settled them left them. */
  async putRows(rows: readonly Partial<EventRow>[]): Promise<void> {
    const all = rows.map(
      (row): EventRow => ({
        tenant_id: 101,
        resource: 'repair_orders',
        type: 'RepairOrder',
        action: 'updated',
        record_id: 1,
        event_id: `e${++this.#number}`,
        deliveries: 1,
        state: 'waiting',
        tries: 0,
        ...row,
      }),
    )
    if (all.length > 0) await this.inbox.insert(all, [])
  }

  /** What a listener has last said of itself. */
  async listens(row: Partial<ListenerRow>): Promise<void> {
    const { inbox } = this
    const usual = { listener_id: 'l1', address: 'http://127.0.0.1:8787/webhooks', host: 'here', pid: 1 }
    const said = inbox.db
      .insertInto('sync_listeners')
      .values({ ...usual, trouble: null, ended_at: null, ...row })
      .onConflict((conflict) => conflict.column('listener_id').doUpdateSet(row))
    await inbox.write([said.compile()])
  }

  /** For another scenario, whose clock may start earlier than the last rings. */
  async empty(): Promise<void> {
    this.memory = new RingMemory()
    this.settings = ringSettings
    const { db } = this.inbox
    for (const table of ['sync_events', 'sync_listeners', 'sync_event_counts'] as const)
      await this.inbox.write([db.deleteFrom(table).compile()])
  }

  async turn(options: RunOptions = {}): Promise<TurnEnd> {
    const { deps, close } = await depsOf(this.sandbox, this.warehouse, { clock: this.clock, ...options })
    const { inbox, settings, memory, warehouse } = this
    const { needs, closeAll } = this.#needs()
    const counts = { targetOf: settings.targetOf, own: undefined }
    if (this.countsDelays)
      Object.assign(deps, { arrived: await countingDelays(counts as never, needs, warehouse) })
    try {
      return await takeTurn({ deps, inbox, settings, memory, asksAuthorizations: false })
    } finally {
      await closeAll()
      await close()
    }
  }

  /** What a command's context has for those who look into the inbox. */
  #needs() {
    const closing: (() => unknown)[] = []
    const needs = {
      clock: this.clock,
      config: { history: {} },
      invocation: { signals: {} },
      log: { warn: () => {} },
      onClose: (close: () => unknown) => closing.push(close),
    } as unknown as InboxNeeds
    const closeAll = async (): Promise<void> => {
      for (const close of closing) await close()
    }
    return { needs, closeAll }
  }

  /** Has a listener take turns by itself while the work is done. `fails`: whether its last turn did, when that changes. */
  async listening(
    work: (listener: Listener) => Promise<void>,
    {
      warehouse = this.warehouse,
      fails = () => {},
      survived,
      ...options
    }: RunOptions & {
      readonly warehouse?: Writer
      readonly fails?: (isFailing: boolean) => void
      readonly survived?: (error: unknown) => void
    } = {},
  ): Promise<void> {
    const { deps, close } = await depsOf(this.sandbox, warehouse, options)
    if (survived) deps.observer.survived = survived
    const listener = new Listener({ deps, inbox: this.inbox, settings: ringSettings })
    const end = new AbortController()
    const listening = listener.run(end.signal, fails)
    try {
      await work(listener)
    } finally {
      end.abort()
      await listening
      await close()
    }
  }

  /** Judges which changes no event has announced, as the listener does each hour. `keepMs`: how long events are kept. */
  async judge(nowMicros: bigint, keepMs = 30 * 86_400_000): Promise<void> {
    const { inbox, warehouse } = this
    const { deps, close } = await depsOf(this.sandbox, warehouse)
    const { config } = deps
    await judgeUnannounced({ config, warehouse, inbox, keep: keepMs }, nowMicros)
    await close()
  }

  /** Settles what waits for a list, so many times at once, as several runs do that have read it. */
  async settle(
    cursor: { readonly tenantId: number; readonly resource: string },
    at: string,
    times = 1,
  ): Promise<void> {
    const rows = await waitingOf(this.inbox, cursor)
    const how = { state: 'settled', runId: 'r', at } as const
    for (let i = 0; i < times; i++) await settleEvents(this.inbox, rows, how)
  }

  /** What rings would read now. */
  due() {
    return dueCursors(this.inbox, fromMicros(this.clock.nowMicros()))
  }

  /** What rounds and rings make of what waits. */
  async weighed() {
    const { clock, warehouse } = this
    const now = fromMicros(clock.nowMicros())
    const { needs, closeAll } = this.#needs()
    const announcements = await Announcements.there(needs, warehouse)
    const inRounds = Object.fromEntries((await announcements?.waiting(now)) ?? [])
    await closeAll()
    return { inRounds, inRings: await this.due() }
  }

  /** What was counted of events, by labels or part. */
  async counted(metric: string): Promise<Record<string, number>> {
    const rows = await this.inbox.read((db) =>
      db.selectFrom('sync_event_counts').selectAll().where('metric', '=', metric).execute(),
    )
    return Object.fromEntries(rows.map(({ labels, part, value }) => [part || labels, Number(value)]))
  }

  rows() {
    return this.inbox.read(async (db) => {
      const rows = await db.selectFrom('sync_events').selectAll().execute()
      return rows.toSorted((a, b) => Number(a.event_id.slice(1)) - Number(b.event_id.slice(1)))
    })
  }

  /** State and reason of each event, in the order of arrival. */
  async states(): Promise<string[]> {
    return (await this.rows()).map(({ state, reason }) =>
      reason === null ? `${state}` : `${state} ${reason}`,
    )
  }
}
