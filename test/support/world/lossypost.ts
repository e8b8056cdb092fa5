/** Events on their way from the source: lost, doubled, late and out of order. What arrives is put into the inbox, as the receiver would. */
import { resources } from '../../../schema/index.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { Secret } from '../../../src/engine/config/secret.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import type { Inbox } from '../../../src/features/events/inbox.js'
import { judge } from '../../../src/features/events/judge.js'
import { receiverCall, syncedNow } from '../../../src/features/events/receiver.js'
import { eventSettings } from '../../../src/features/events/settings.js'
import type { ReceivedEvent } from '../../../src/features/events/understand.js'
import type { StoreChange } from '../../../src/sandbox/index.js'

const everything = { sync: { tenants: 'all', exceptTenants: [], resources: 'all' } } as const

/** What befalls events on their way: shares, and the longest delay in ms. */
const way = { dropped: 0.05, twice: 0.1, late: 0.2, latestMs: 1_800_000 } as const

export class LossyPost {
  /** Under way, by when they arrive, in ms since the epoch. */
  #post: { readonly at: number; readonly event: ReceivedEvent }[] = []

  #sent = 0

  constructor(private readonly random: () => number) {}

  /** Sends the event of a change, if there is one. `now`: in microseconds since the epoch. */
  changed({ action, tenant, resource, id }: StoreChange, version: string | null, now: bigint): void {
    const { announced, entity } = resources[resource] ?? {}
    if (!announced || entity === undefined) return
    const triggeredAt = fromMicros(now)
    const what = { type: entity, action, recordId: id, tenantId: tenant, version, triggeredAt }
    const event = { id: `e${++this.#sent}`, ...what }
    if (this.random() < way.dropped) return
    for (let times = this.random() < way.twice ? 2 : 1; times > 0; times--) {
      const takes = this.random() * (this.random() < way.late ? way.latestMs : 2000)
      this.#post.push({ at: Number(now / 1000n) + takes, event })
    }
  }

  /** Puts what has arrived by now, in ms since the epoch, into the inbox. */
  async deliver(inbox: Inbox, warehouse: Writer, now: number): Promise<void> {
    const here = this.#post.filter(({ at }) => at <= now)
    this.#post = this.#post.filter(({ at }) => at > now)
    if (here.length === 0) return
    const config = {
      warehouse: { url: new Secret(''), schema: '', pooler: false },
      api: { baseUrl: 'http://127.0.0.1:1', partnerId: '42', secret: new Secret('') },
    }
    const synced = await syncedNow(everything as never, warehouse)
    const call = receiverCall(config as never, eventSettings({}), synced)
    for (const { at, event } of here.toSorted((a, b) => a.at - b.at)) {
      const { rows } = judge(event, call, synced, fromMicros(BigInt(Math.round(at)) * 1000n))
      await inbox.insert(
        rows.map((row) => ({ ...row, deliveries: 1, tries: 0 })),
        [],
      )
    }
  }
}
