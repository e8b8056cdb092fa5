/** What is counted of events, and which changes count as found without one: figures, without an effect on any verdict. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { shopsync } from '../../support/harness/call.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { configure } from '../../support/harness/place.js'
import { statusOf } from '../../support/harness/status.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { EventWorld, list } from '../../support/world/eventworld.js'

const minute = 60_000_000n
const day = 1440n * minute

describe.each(warehouses())('on $name', (kind) => {
  let w: EventWorld
  let began: bigint
  beforeAll(async () => {
    w = await EventWorld.open(kind, { repairOrders: 30 })
  })
  beforeEach(async () => {
    await w.begin()
    w.nextHour()
    began = w.clock.micros
  })

  const at = (after: bigint): string => fromMicros(began + after)
  const seconds = (after: number): string => at(BigInt(after * 1e6))
  const listen = (up: bigint, seen: bigint, more: object = {}): Promise<void> =>
    w.events.listens({ up_at: at(up), seen_at: at(seen), ...more })
  const shown = async (after: bigint) =>
    (await statusOf(w.sandbox, w.warehouse, { nowMicros: began + after })).events as unknown as {
      readonly listener: { readonly state: string; readonly trouble: string | null } | null
      readonly unannounced: object[]
      readonly today: object
    }

  it('what waits, or was settled since, is never pruned', async () => {
    const came = { received_at: at(0n), due_at: at(0n) }
    const settled = (after: number) => ({ ...came, state: 'settled', settled_at: seconds(after) })
    await w.events.putRows([settled(10), came, settled(40)])
    await w.events.inbox.prune(seconds(30))
    expect(await w.seen()).toBe('waiting, settled')
  })

  it('an event that two settle is counted once, and totals outlive its row', async () => {
    const came = (after: number, type = 'RepairOrder') => ({
      received_at: seconds(after),
      due_at: seconds(after),
      type,
    })
    await w.events.putRows([came(0), came(10, ''), came(20)])
    const nowMicros = began + minute
    const waiting = await metricsOf(w.warehouse, { nowMicros })
    expect(waiting.sum('events_waiting')).toBe(3)
    expect(waiting.sum('events_oldest_waiting_seconds')).toBe(60)
    await w.events.settle({ tenantId: 101, resource: list }, seconds(22.5), 2)
    expect(await w.events.counted('settled')).toEqual({ [`{"resource":"${list}","state":"settled"}`]: 2 })
    expect(await w.events.counted('settle_seconds')).toEqual({ 3: 1, 30: 1, sum: 25_000_000 })
    // The median of two is the longer one.
    expect(await shown(minute)).toMatchObject({ today: { settled: 2, settled_after_seconds: 22.5 } })
    await w.events.inbox.prune(seconds(30))
    const after = await metricsOf(w.warehouse, { nowMicros })
    expect(after.sum('events_settled_total', { resource: list, state: 'settled' })).toBe(2)
    expect(after.sum('events_settle_seconds_sum')).toBe(25)
    expect(after.sum('events_settle_seconds_bucket', { le: '3' })).toBe(1)
    expect([after.sum('events_waiting'), after.sum('events_oldest_waiting_seconds')]).toEqual([0, 0])
  })

  it('shows what has come since midnight, waits and is due, of all lists or those that are chosen', async () => {
    const came = (after: bigint, more: object = {}) => ({
      received_at: at(after),
      due_at: at(after),
      ...more,
    })
    const others = w.sandbox.tenantIds.find((id) => id !== w.tenant)
    await w.events.putRows([
      came(-day),
      came(0n),
      came(0n, { tenant_id: others }),
      came(0n, { resource: 'payments', type: 'Payment' }),
      came(0n, { due_at: at(2n * minute), tries: 1 }),
    ])
    const all = await statusOf(w.sandbox, w.warehouse, { nowMicros: began })
    const many = { due_cursors: 3, due_since: at(-day), waiting: 5, today: { received: 4 } }
    expect(all.events).toMatchObject(many)
    const chosen = { nowMicros: began, tenants: [w.tenant], named: [list] }
    const { events } = await statusOf(w.sandbox, w.warehouse, chosen)
    expect(events).toMatchObject({ due_cursors: 1, due_since: at(-day), waiting: 3, today: { received: 2 } })
  })

  it('a listener is up, has ended, has gone silent, or accepts nothing', async () => {
    const states: unknown[] = [(await shown(0n)).listener]
    for (const [up, seen, more] of [
      [-120n, -1n, {}],
      [-120n, -2n, { ended_at: at(-2n * minute) }],
      [-120n, -2n, { ended_at: null }],
      [-150n, 0n, { listener_id: 'l2', trouble: 'disk_full' }],
    ] as const) {
      await listen(up * minute, seen * minute, more)
      const { listener } = await shown(0n)
      states.push(`${listener?.state} ${listener?.trouble}`)
    }
    expect(states).toEqual([null, 'listening null', 'ended null', 'lost null', 'not_ready disk_full'])
  })

  const judge = (after: bigint, keepMs?: number) => w.events.judge(began + after, keepMs)
  const found = async (after = 120n * minute) => (await shown(after)).unannounced
  /** Orders that have just changed, and that a sync has brought. */
  async function changed(amount: number): Promise<number[]> {
    const ids = Array.from({ length: amount }, () => w.unused())
    for (const id of ids) w.change(id)
    await w.sync()
    return ids
  }
  const event = (record_id: number, more: object) =>
    w.events.putRows([
      { tenant_id: w.tenant, record_id, received_at: at(minute), due_at: null, state: 'settled', ...more },
    ])

  it('counts changes without an event, once, an hour after them; of two listeners one judges', async () => {
    await listen(-20n * minute, 200n * minute)
    await judge(0n)
    const [a = 0, b = 0, c = 0, d = 0] = await changed(4)
    await event(a, { version: w.version(a) })
    await event(b, { version: null, action: 'created' })
    await event(c, { version: fromMicros(began - minute) })
    // Records of the same id, of another resource and of another tenant.
    await event(d, { version: w.version(d), type: 'Payment' })
    await event(d, { version: w.version(d), tenant_id: w.sandbox.tenantIds.find((id) => id !== w.tenant) })
    await judge(59n * minute)
    expect(await found()).toEqual([])
    await Promise.all([judge(62n * minute), judge(62n * minute)])
    const expected = [{ resource: list, changes: 4, unannounced: 2 }]
    expect(await found()).toEqual(expected)
    await judge(63n * minute)
    expect(await found()).toEqual(expected)
    expect(await found(32n * day)).toEqual([])
    await judge(32n * day)
    expect(await w.events.counted('changes')).toEqual({})
  })

  it('counts nothing from a time when nobody listened, or had just started', async () => {
    await judge(0n)
    await changed(1)
    await listen(-10n * minute, 200n * minute)
    await judge(120n * minute)
    expect(await found()).toEqual([])
  })

  it('counts nothing that existed when a list was first judged, or whose events may be gone', async () => {
    await listen(-60n * minute, 200n * minute)
    await changed(1)
    await judge(minute)
    await judge(120n * minute)
    expect(await found()).toEqual([])
    await changed(1)
    await judge(240n * minute, 3_600_000)
    expect(await found()).toEqual([])
  })

  it("a tenant's progress is forgotten with it, and no other's", async () => {
    await judge(0n)
    const tenants = async (): Promise<string[]> => {
      const labels = Object.keys(await w.events.counted('judged_through'))
      return [...new Set(labels.map((label) => (JSON.parse(label) as { tenant: string }).tenant))].sort()
    }
    const [first, second] = w.sandbox.tenantIds.map(String)
    expect(await tenants()).toEqual([first, second])
    const config = configure(w.sandbox, w.address, [list])
    const ended = await shopsync(['forget', '--tenant', `${first}`, '--yes', '--config', config])
    expect([ended.code, await tenants()]).toEqual([0, [second]])
  })
})
