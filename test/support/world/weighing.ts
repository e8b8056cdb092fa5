/** What rounds and rings make of the events that wait in a warehouse. Doesn't use vitest. */
import type { Clock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import { dueCursors } from '../../../src/features/events/waiting.js'
import { Announcements, type InboxNeeds } from '../../../src/features/targets/announced.js'
import type { Warehouse } from '../harness/warehouse.js'
import { putEvents } from './inboxrows.js'

export class Weighing {
  private constructor(
    private readonly warehouse: Warehouse,
    private readonly clock: Clock,
    private readonly inbox: Inbox,
  ) {}

  static async open(warehouse: Warehouse, clock: Clock): Promise<Weighing> {
    return new Weighing(warehouse, clock, await Inbox.open(warehouse, { clock }))
  }

  /** Of these events alone. */
  async of(events: Parameters<typeof putEvents>[1]) {
    const { inbox, clock, warehouse } = this
    await inbox.write([inbox.db.deleteFrom('sync_events').compile()])
    await putEvents(inbox, events)
    const closing: (() => unknown)[] = []
    const context = {
      clock,
      invocation: { signals: {} },
      log: { warn: () => {} },
      onClose: (close: () => unknown) => closing.push(close),
    }
    const now = fromMicros(clock.nowMicros())
    const announcements = await Announcements.there(context as unknown as InboxNeeds, warehouse)
    const inRounds = Object.fromEntries((await announcements?.waiting(now)) ?? [])
    for (const close of closing) await close()
    return { inRounds, inRings: await dueCursors(inbox, now) }
  }

  close(): Promise<void> {
    return this.inbox.close()
  }
}
