/** Events on their way from the source: lost, doubled, late and out of order. What arrives is put into the inbox, as the receiver would. */
import { resources } from '../../../schema/index.js'
import { addMicros, fromMicros } from '../../../src/engine/base/timestamp.js'
import { Secret } from '../../../src/engine/config/secret.js'
import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import type { Inbox } from '../../../src/features/events/inbox.js'
import { judge } from '../../../src/features/events/judge.js'
import { receiverCall, syncedNow } from '../../../src/features/events/receiver.js'
import { eventSettings } from '../../../src/features/events/settings.js'
import type { ReceivedEvent } from '../../../src/features/events/understand.js'
import type { StoreChange } from '../../../src/sandbox/index.js'
import { known } from '../harness/runs.js'

const everything = { sync: { tenants: 'all', exceptTenants: [], resources: 'all' } } as const

/** What befalls events on their way: shares, and the longest delay in ms. `forged`: of what nobody has done. */
export const way = { dropped: 0.05, twice: 0.1, late: 0.2, latestMs: 1_800_000, forged: 0.04 } as const

export interface PostTally {
  events: number
  dropped: number
  doubled: number
  late: number
  forged: number
}

export class LossyPost {
  /** Under way, by when they arrive, in ms since the epoch. */
  #post: { readonly at: number; readonly event: ReceivedEvent }[] = []

  constructor(
    private readonly random: () => number,
    readonly tally: PostTally,
    private readonly forged: number = way.forged,
  ) {}

  /** Sends the event of a change, if there is one. `now`: in microseconds since the epoch. */
  changed({ action, tenant, resource, id }: StoreChange, version: string | null, now: bigint): void {
    const { announced, entity } = resources[resource] ?? {}
    if (!announced || entity === undefined) return
    const number = ++this.tally.events
    const event = {
      id: `e${number}`,
      type: entity,
      action,
      recordId: id,
      tenantId: tenant,
      version,
      triggeredAt: fromMicros(now),
    }
    this.#send(event, now)
    if (action === 'deleted' || this.random() > this.forged) return
    this.tally.forged += 1
    const lie =
      this.random() < 0.5
        ? { action: 'deleted', version: null }
        : { version: version && addMicros(version, 1_000_000n) }
    this.#send({ ...event, id: `forged ${number}`, ...lie }, now)
  }

  #send(event: ReceivedEvent, now: bigint): void {
    if (this.random() < way.dropped) {
      this.tally.dropped += 1
      return
    }
    const isDoubled = this.random() < way.twice
    if (isDoubled) this.tally.doubled += 1
    for (let i = 0; i < (isDoubled ? 2 : 1); i++) {
      const isLate = this.random() < way.late
      if (isLate) this.tally.late += 1
      this.#post.push({
        at: Number(now / 1000n) + this.random() * (isLate ? way.latestMs : 2000),
        event,
      })
    }
  }

  /** Puts what has arrived by now, in ms since the epoch, into the inbox. */
  async deliver(inbox: Inbox, warehouse: Warehouse, now: number): Promise<void> {
    const here = this.#post.filter(({ at }) => at <= now)
    this.#post = this.#post.filter(({ at }) => at > now)
    if (here.length === 0) return
    const config = {
      warehouse: { url: new Secret(''), schema: '', pooler: false },
      api: { baseUrl: 'http://127.0.0.1:1', partnerId: '42', secret: new Secret('') },
    }
    const synced = await syncedNow(everything as never, known, warehouse)
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
