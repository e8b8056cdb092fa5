/** What is shown about events: counts, the status, a row's history, the metrics. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fromMicros, toMicros } from '../../../src/engine/base/timestamp.js'
import { lastEventOf, readEventsStatus } from '../../../src/features/events/eventview.js'
import type { Inbox } from '../../../src/features/events/inbox.js'
import { dueCursors, ignoreEvents, settleEvents, waitingOf } from '../../../src/features/events/waiting.js'
import { heardText } from '../../../src/features/health/heardwords.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { sync } from '../../support/harness/runs.js'
import { statusOf } from '../../support/harness/status.js'
import { open, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'
import { putEvents, putListener } from '../../support/world/inboxrows.js'

const noon = toMicros('2026-05-05T12:00:00.000000Z')
const at = (seconds: number): string => fromMicros(noon + BigInt(Math.round(seconds * 1e6)))

describe.each(warehouses())('on $name', (kind) => {
  let sandbox: Sandbox
  let warehouse: Warehouse
  let events: EventBench
  let inbox: Inbox

  beforeEach(async () => {
    sandbox = await createSandbox({ tenants: 1, repairOrders: 10, seed: 5 })
    warehouse = await open(kind)
    await sync(sandbox, warehouse)
    events = await EventBench.open(sandbox, warehouse)
    inbox = events.inbox
  })
  afterEach(async () => {
    await inbox.close()
    await warehouse.close()
    await sandbox.close()
  })

  const counted = async (metric: string): Promise<Record<string, number>> => {
    const rows = await inbox.read((db) =>
      db.selectFrom('sync_event_counts').selectAll().where('metric', '=', metric).execute(),
    )
    return Object.fromEntries(rows.map(({ labels, part, value }) => [part || labels, Number(value)]))
  }

  it('counts what is settled, once, and how long its own events took', async () => {
    await putEvents(inbox, [
      { received_at: at(0), due_at: at(0) },
      { received_at: at(10), due_at: at(10), type: '' },
      { received_at: at(10), due_at: at(10), resource: 'payments' },
      { received_at: at(20), due_at: at(20) },
    ])
    const rows = await waitingOf(inbox, { tenantId: 101, resource: 'repair_orders' })
    const settled = { state: 'settled', runId: 'r', at: at(22.5) } as const
    await settleEvents(inbox, rows, settled)
    await settleEvents(inbox, rows, settled)
    await ignoreEvents(inbox, { tenantId: 101, resource: 'payments' }, { reason: 'unavailable', at: at(30) })
    expect(await counted('settled')).toEqual({
      '{"resource":"repair_orders","state":"settled"}': 2,
      '{"resource":"payments","state":"ignored"}': 1,
    })
    expect(await counted('settle_seconds')).toEqual({ 3: 1, 30: 1, sum: 25_000_000 })
  })

  it('counts what a ring settles', async () => {
    const tenant = sandbox.tenantIds[0] ?? 0
    const [id = 0] = sandbox.store.ids(tenant, 'repair_orders')
    await events.put({ tenant, resource: 'repair_orders', id })
    await events.turn()
    expect(await counted('settled')).toEqual({ '{"resource":"repair_orders","state":"settled"}': 1 })
  })

  it("is due at once if nobody has seen it, whatever its receiver's clock", async () => {
    await putEvents(inbox, [
      { received_at: at(50), due_at: at(50), tries: null },
      { received_at: at(50), due_at: at(50), tries: 1, resource: 'payments' },
    ])
    expect(await dueCursors(inbox, at(0))).toMatchObject([{ resource: 'repair_orders' }])
  })

  it('status: who listens, what waits, and what came today', async () => {
    await putListener(inbox, { up_at: at(-3 * 3600), seen_at: at(-5) })
    const over = { state: 'settled', due_at: null } as const
    await putEvents(inbox, [
      { received_at: at(-100), settled_at: at(-98), deliveries: 3, ...over },
      { received_at: at(-90), settled_at: at(-86), ...over },
      { received_at: at(-80), settled_at: at(-77), ...over, state: 'deleted', action: 'deleted' },
      { received_at: at(-80), settled_at: at(-77), ...over, resource: 'payments' },
      { received_at: at(-70), ...over, resource: '', type: 'Note', state: 'unknown' },
      { received_at: at(-3), due_at: at(-3) },
      { received_at: at(-4), due_at: at(-4), resource: 'payments' },
      { received_at: at(-60), due_at: at(60), reason: 'not_listed' },
      { received_at: at(-86_400), settled_at: at(-86_000), ...over },
    ])
    const seen = await readEventsStatus(warehouse, noon)
    expect(seen).toMatchObject({
      listener: { state: 'listening', since: at(-3 * 3600), trouble: null },
      ...{ last_received_at: at(-3), due_cursors: 2, due_since: at(-4), waiting: 3, unannounced: [] },
      today: {
        ...{ since: '2026-05-05T00:00:00.000000Z', received: 6, received_again: 1, settled: 3 },
        ...{ settled_after_seconds: 3, deletions: 1 },
      },
    })
    expect(heardText(seen, noon).split('\n')).toEqual([
      'events: listening since 09:00 UTC, last one 3.0 s ago; 2 cursors due, the oldest for 4.0 s',
      '  today (UTC) 6 received (1 more than once), 3 settled (median 3.0 s), 1 deletion',
    ])
    const chosen = await readEventsStatus(warehouse, noon, { tenants: [101], resources: ['payments'] })
    expect(chosen).toMatchObject({ waiting: 1, due_cursors: 1 })
    const other = await readEventsStatus(warehouse, noon, { tenants: [102], resources: null })
    expect(other).toMatchObject({ waiting: 0, today: { received: 0 } })
    expect((await statusOf(sandbox, warehouse, { nowMicros: noon })).events).toEqual(seen)
  })

  it('status: a listener that has ended, and one that has gone silent', async () => {
    const text = async (): Promise<string> => heardText(await readEventsStatus(warehouse, noon), noon)
    expect(await text()).toBe('events: no listener, none yet')
    await putListener(inbox, { up_at: at(-7200), seen_at: at(-61) })
    expect(await text()).toBe(
      '✗ events: The receiver of events at http://127.0.0.1:8787/webhooks on here died without reporting: it was last seen at 2026-05-05 11:58:59 UTC, none yet',
    )
    await putListener(inbox, { up_at: at(-7200), seen_at: at(-61), ended_at: at(-61) })
    expect(await text()).toBe('events: no listener since 11:58 UTC, none yet')
    await putListener(inbox, { listener_id: 'l2', up_at: at(-9000), seen_at: at(-1), trouble: 'disk_full' })
    expect(await text()).toContain('accepts no events: the disk is nearly full')
  })

  it('why: the last event that rang for a record, and none from another list', async () => {
    const settled_at = at(2)
    await putEvents(inbox, [
      { received_at: at(0), settled_at, state: 'settled' },
      { received_at: at(1), settled_at, state: 'settled', run_id: 'events-x' },
      { received_at: at(3), state: 'settled', type: '' },
      { received_at: at(1), settled_at, state: 'settled', resource: 'payments' },
    ])
    const key = { tenantId: 101, resource: 'repair_orders', id: 1 }
    expect(await lastEventOf(inbox, key)).toMatchObject({
      ...{ event_id: 'e2', action: 'updated', received_at: at(1), settled_at, run_id: 'events-x' },
    })
    expect(await lastEventOf(inbox, { ...key, resource: 'payments' })).toBeNull()
    expect(await lastEventOf(inbox, { ...key, id: 2 })).toBeNull()
    expect(await lastEventOf(inbox, { ...key, tenantId: 102 })).toBeNull()
  })

  it('metrics: totals that outlive the rows, and what waits now', async () => {
    const row = { received_at: at(-20), due_at: at(-20) }
    await putEvents(inbox, [row, { ...row, received_at: at(-10) }])
    const waiting = await metricsOf(warehouse, { nowMicros: noon })
    expect(waiting.sum('events_waiting')).toBe(2)
    expect(waiting.sum('events_oldest_waiting_seconds')).toBe(20)
    const rows = await waitingOf(inbox, { tenantId: 101, resource: 'repair_orders' })
    await settleEvents(inbox, rows, { state: 'settled', runId: 'r', at: at(-8) })
    await inbox.prune(at(0))
    const after = await metricsOf(warehouse, { nowMicros: noon })
    expect(after.sum('events_settled_total', { resource: 'repair_orders', state: 'settled' })).toBe(2)
    expect(after.sum('events_settle_seconds_count')).toBe(2)
    expect(after.sum('events_settle_seconds_sum')).toBe(14)
    expect(after.sum('events_settle_seconds_bucket', { le: '2' })).toBe(1)
    expect([after.sum('events_waiting'), after.sum('events_oldest_waiting_seconds')]).toEqual([0, 0])
  })
})
