/** What waiting events weigh when due rounds and rings rank lists, on both warehouses. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addMicros, canonical } from '../../../src/engine/base/timestamp.js'
import { eventsText } from '../../../src/features/events/eventlist.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import { dueCursors } from '../../../src/features/events/waiting.js'
import { Announcements, type InboxNeeds } from '../../../src/features/targets/announced.js'
import { reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { putEvents } from '../../support/world/inboxrows.js'

const clock = new HandClock('2026-03-04T12:00:00Z')
const now = canonical('2026-03-04T12:00:00Z') ?? ''
const hoursAgo = (hours: number): string => addMicros(now, BigInt(-hours * 3600) * 1_000_000n)

warehouses().forEach((kind) => {
  let warehouse: Warehouse
  let inbox: Inbox
  const closing: (() => unknown)[] = []
  beforeEach(async () => {
    warehouse = await reopen(await kind.migrated())
    inbox = await Inbox.open(warehouse, { clock })
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
    await inbox.close()
    await warehouse.close()
  })

  async function waiting(): Promise<Record<string, unknown>> {
    const context = {
      clock,
      invocation: { signals: {} },
      log: { warn: () => {} },
      onClose: (close: () => unknown) => closing.push(close),
    }
    const announcements = await Announcements.there(context as unknown as InboxNeeds, warehouse)
    return Object.fromEntries((await announcements?.waiting(now)) ?? [])
  }

  it(`${kind.name}: a record that several events announce counts once, from the first one`, async () => {
    await putEvents(inbox, [
      { received_at: hoursAgo(2), due_at: hoursAgo(2) },
      { received_at: hoursAgo(1), due_at: hoursAgo(1) },
      { received_at: hoursAgo(1), due_at: hoursAgo(1), record_id: 2 },
    ])
    expect(await waiting()).toEqual({ '101 repair_orders': { count: 2, hours: 3 } })
    expect(await dueCursors(inbox, now)).toMatchObject([{ since: hoursAgo(2), announced: 2 }])
  })

  it(`${kind.name}: an event of another resource makes a list due, and announces none of its records`, async () => {
    await putEvents(inbox, [
      { received_at: hoursAgo(5), due_at: hoursAgo(5), type: 'Payment', record_id: 1 },
      { received_at: hoursAgo(1), due_at: hoursAgo(1), record_id: 1 },
      { received_at: hoursAgo(3), due_at: hoursAgo(3), type: 'Payment', resource: 'vehicles' },
    ])
    expect(await waiting()).toEqual({
      '101 repair_orders': { count: 2, hours: 1 },
      '101 vehicles': { count: 1, hours: 0 },
    })
    expect(await dueCursors(inbox, now)).toMatchObject([
      { resource: 'repair_orders', since: hoursAgo(5), announced: 1 },
      { resource: 'vehicles', since: hoursAgo(3), announced: 0 },
    ])
  })

  it(`${kind.name}: what a host an hour ahead has put off is due now, and has taken no time below zero`, async () => {
    const ahead = hoursAgo(-1)
    await putEvents(inbox, [{ received_at: ahead, due_at: addMicros(ahead, 5_000_000n), tries: 1 }])
    expect(await waiting()).toEqual({ '101 repair_orders': { count: 1, hours: 0 } })
    expect(await dueCursors(inbox, now)).toMatchObject([{ announced: 1 }])
    const rows = await inbox.read((db) => db.selectFrom('sync_events').selectAll().execute())
    const settled = rows.map((row) => ({ ...row, state: 'settled', settled_at: now }))
    expect(eventsText(settled as unknown as Parameters<typeof eventsText>[0])).not.toMatch(/-\d+ (s|min|h)/)
    // Nothing that waits is removed, whatever its times are.
    await inbox.prune(hoursAgo(-48))
    expect(await waiting()).toMatchObject({ '101 repair_orders': { count: 1 } })
  })

  it(`${kind.name}: a record that a walk did not find counts again once its pause is over`, async () => {
    await putEvents(inbox, [
      { received_at: hoursAgo(2), due_at: hoursAgo(-0.125), tries: 1 },
      { received_at: hoursAgo(2), due_at: hoursAgo(1), tries: 1, resource: 'vehicles', type: 'Vehicle' },
      { received_at: hoursAgo(1), due_at: hoursAgo(-1), tries: 0, resource: 'notes', type: 'Note' },
    ])
    expect(await waiting()).toEqual({
      '101 vehicles': { count: 1, hours: 2 },
      '101 notes': { count: 1, hours: 1 },
    })
  })
})
