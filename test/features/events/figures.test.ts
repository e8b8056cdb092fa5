/** What is counted of events, and which changes count as found without one: figures, without an effect on any verdict. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fromMicros, toMicros } from '../../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sync } from '../../support/harness/runs.js'
import { statusOf } from '../../support/harness/status.js'
import { reopen, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'
import { putEvents, putListener } from '../../support/world/inboxrows.js'

const minute = 60_000_000n
const day = 1440n * minute
const list = 'repair_orders'

describe.each(warehouses())('on $name', (kind) => {
  let sandbox: Sandbox
  let address: Address
  let warehouse: Warehouse
  let bench: EventBench
  let began: bigint
  let tenant = 0

  beforeEach(async () => {
    sandbox = await createSandbox({ tenants: 2, repairOrders: 10, seed: 5 })
    tenant = sandbox.tenantIds[0] ?? 0
    address = await kind.viewed()
    warehouse = await reopen(address)
    await sync(sandbox, warehouse)
    bench = await EventBench.open(sandbox, warehouse)
    began = toMicros(new Date().toISOString().replace('Z', '000Z'))
  })
  afterEach(async () => {
    await bench.inbox.close()
    await warehouse.close()
    await sandbox.close()
  })

  const at = (after: bigint): string => fromMicros(began + after)
  const seconds = (after: number): string => at(BigInt(after * 1e6))
  const listen = (up: bigint, seen: bigint, more: object = {}): Promise<void> =>
    putListener(bench.inbox, { up_at: at(up), seen_at: at(seen), ...more })
  const shown = async (after: bigint) =>
    (await statusOf(sandbox, warehouse, { nowMicros: began + after })).events as unknown as {
      readonly listener: { readonly state: string; readonly trouble: string | null } | null
      readonly unannounced: object[]
      readonly today: object
    }

  it('an event that two settle is counted once, and totals outlive its row', async () => {
    await putEvents(bench.inbox, [
      { received_at: seconds(0), due_at: seconds(0) },
      { received_at: seconds(10), due_at: seconds(10), type: '' },
      { received_at: seconds(20), due_at: seconds(20) },
    ])
    const nowMicros = began + minute
    const waiting = await metricsOf(warehouse, { nowMicros })
    expect(waiting.sum('events_waiting')).toBe(3)
    expect(waiting.sum('events_oldest_waiting_seconds')).toBe(60)
    await bench.settle({ tenantId: 101, resource: list }, seconds(22.5), 2)
    expect(await bench.counted('settled')).toEqual({ [`{"resource":"${list}","state":"settled"}`]: 2 })
    expect(await bench.counted('settle_seconds')).toEqual({ 3: 1, 30: 1, sum: 25_000_000 })
    // The median of two is the longer one.
    expect(await shown(minute)).toMatchObject({ today: { settled: 2, settled_after_seconds: 22.5 } })
    await bench.inbox.prune(seconds(30))
    const after = await metricsOf(warehouse, { nowMicros })
    expect(after.sum('events_settled_total', { resource: list, state: 'settled' })).toBe(2)
    expect(after.sum('events_settle_seconds_sum')).toBe(25)
    expect(after.sum('events_settle_seconds_bucket', { le: '3' })).toBe(1)
    expect([after.sum('events_waiting'), after.sum('events_oldest_waiting_seconds')]).toEqual([0, 0])
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
      states.push(listener && [listener.state, listener.trouble])
    }
    expect(states).toEqual([
      null,
      ['listening', null],
      ['ended', null],
      ['lost', null],
      ['not_ready', 'disk_full'],
    ])
  })

  const judge = (after: bigint, keepMs?: number) => bench.judge(began + after, keepMs)
  const found = async (after = 120n * minute) => (await shown(after)).unannounced
  const orders = (): number[] => sandbox.store.ids(tenant, list)
  const change = async (...records: number[]): Promise<string[]> => {
    for (const id of records) sandbox.store.change(tenant, list, id, { detail: 'changed' })
    await sync(sandbox, warehouse)
    const rows = (await rowsOf(warehouse, list)).filter((row) => row.tenant_id === tenant)
    return records.map((id) => String(rows.find((row) => row.id === id)?.updated_at))
  }
  const event = (record_id: number, more: object) => {
    const usual = { tenant_id: tenant, event_id: `e${record_id}`, record_id, received_at: at(minute) }
    return putEvents(bench.inbox, [{ ...usual, state: 'settled', ...more }])
  }

  it('counts changes without an event, once, an hour after them; of two listeners one judges', async () => {
    await listen(-20n * minute, 200n * minute)
    await judge(0n)
    const [a = 0, b = 0, c = 0, d = 0] = orders()
    const [version = ''] = await change(a, b, c, d)
    await event(a, { version })
    await event(b, { version: null, action: 'created' })
    await event(c, { version: fromMicros(began - minute) })
    await judge(59n * minute)
    expect(await found()).toEqual([])
    await Promise.all([judge(62n * minute), judge(62n * minute)])
    const expected = [{ resource: list, changes: 4, unannounced: 2 }]
    expect(await found()).toEqual(expected)
    await judge(63n * minute)
    expect(await found()).toEqual(expected)
    expect(await found(32n * day)).toEqual([])
    await judge(32n * day)
    expect(await bench.counted('changes')).toEqual({})
  })

  it('counts nothing from a time when nobody listened, or had just started', async () => {
    await judge(0n)
    await change(orders()[0] ?? 0)
    await listen(-10n * minute, 200n * minute)
    await judge(120n * minute)
    expect(await found()).toEqual([])
  })

  it('counts nothing that existed when a list was first judged, or whose events may be gone', async () => {
    await listen(-60n * minute, 200n * minute)
    const [a = 0, b = 0] = orders()
    await change(a)
    await judge(minute)
    await judge(120n * minute)
    expect(await found()).toEqual([])
    await change(b)
    await judge(240n * minute, 3_600_000)
    expect(await found()).toEqual([])
  })

  it("a tenant's progress is forgotten with it, and no other's", async () => {
    await judge(0n)
    const tenants = async (): Promise<string[]> => {
      const labels = Object.keys(await bench.counted('judged_through'))
      return [...new Set(labels.map((label) => (JSON.parse(label) as { tenant: string }).tenant))].sort()
    }
    const [first, second] = sandbox.tenantIds.map(String)
    expect(await tenants()).toEqual([first, second])
    const config = configure(sandbox, address, [list])
    const ended = await shopsync(['forget', '--tenant', `${first}`, '--yes', '--config', config])
    expect([ended.code, await tenants()]).toEqual([0, [second]])
  })
})
