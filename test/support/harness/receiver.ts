/** A receiver in its thread, as `shopsync listen` starts it, and events as the source sends them. */
import { createHash } from 'node:crypto'
import { Pool } from 'undici'
import { Secret } from '../../../src/engine/config/secret.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import { type RunningReceiver, receiverCall, startReceiver } from '../../../src/features/events/receiver.js'
import { eventSettings } from '../../../src/features/events/settings.js'
import type { ReceiverCall, SyncedNow } from '../../../src/features/events/threadmessages.js'
import { closedAfterwards } from './afterwards.js'
import type { Address } from './place.js'

export const rightSecret = 'sandbox-secret'

export const syncedTenants = (...tenants: number[]): SyncedNow => ({
  tenants: new Set(tenants),
  known: new Set([...tenants, 500]),
  forgotten: new Set([600]),
  resources: new Set(['repair_orders', 'payments', 'customers']),
})

export interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface SentEvent {
  readonly id?: string
  readonly type?: string
  readonly event?: string
  readonly record?: number
  readonly tenant?: number
  readonly data?: object
}

export const eventBody = ({
  id = 'e1',
  type = 'RepairOrder',
  event = 'repair_order.updated',
  record = 1,
  tenant = 101,
  data,
}: SentEvent = {}): string =>
  JSON.stringify({
    id,
    timestamp: '2026-01-31T10:00:00Z',
    event,
    payload: { type, id: record, tenant_id: tenant, data },
  })

export class TestReceiver {
  readonly log: { readonly level: string; readonly message: string }[] = []
  received = 0
  unknownTenants = 0
  #pool: Pool | undefined

  private constructor(
    readonly running: RunningReceiver,
    readonly inbox: Inbox,
  ) {}

  static async open(
    address: Address,
    warehouse: Writer,
    more: Partial<ReceiverCall> = {},
  ): Promise<TestReceiver> {
    const config = {
      warehouse: { ...address, url: new Secret(address.url), label: '', pooler: false, autoMigrate: true },
      api: { baseUrl: 'http://127.0.0.1:1', partnerId: '42', secret: new Secret(rightSecret) },
    }
    const usual = receiverCall(config as never, { ...eventSettings({}), port: 0 }, syncedTenants(101))
    let opened: TestReceiver | undefined
    const running = await startReceiver(
      { ...usual, ...more },
      {
        bound: async () => (await Inbox.open(warehouse)).close(),
        received: () => {
          if (opened) opened.received += 1
        },
        unknownTenant: () => {
          if (opened) opened.unknownTenants += 1
        },
        log: (level, message) => void opened?.log.push({ level, message }),
      },
    )
    opened = closedAfterwards(new TestReceiver(running, await Inbox.open(warehouse)))
    return opened
  }

  get origin(): string {
    return new URL(this.running.url).origin
  }

  async ask(
    path: string,
    options: {
      readonly method?: 'GET' | 'POST' | 'PUT'
      readonly headers?: Record<string, string>
      readonly body?: string | Buffer
    } = {},
  ): Promise<Answer> {
    this.#pool ??= new Pool(this.origin, { connections: 32 })
    const { statusCode, headers, body } = await this.#pool.request({ path, method: 'GET', ...options })
    return { status: statusCode, headers, text: await body.text() }
  }

  send(body: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> {
    return this.ask('/webhooks', {
      method: 'POST',
      headers: { 'x-api-secret': rightSecret, 'content-type': 'application/json', ...headers },
      body,
    })
  }

  rows() {
    return this.inbox.read((db) => db.selectFrom('sync_events').selectAll().orderBy('event_id').execute())
  }

  listeners() {
    return this.inbox.read((db) => db.selectFrom('sync_listeners').selectAll().execute())
  }

  /** What was counted, by answer. */
  async counted(): Promise<Record<string, number>> {
    const rows = await this.inbox.read((db) =>
      db.selectFrom('sync_event_counts').selectAll().where('metric', '=', 'received').execute(),
    )
    const found: Record<string, number> = {}
    for (const { labels, value } of rows) {
      const { answer } = JSON.parse(labels) as { answer: string }
      found[answer] = (found[answer] ?? 0) + Number(value)
    }
    return found
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
    await this.running.close()
    await this.inbox.close()
  }
}

export const digest = (text: string): Uint8Array => createHash('sha256').update(text, 'utf8').digest()
