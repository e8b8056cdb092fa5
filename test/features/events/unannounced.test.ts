/** Which changes count as found without an event: the figure, and what it leaves out. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import { judgeUnannounced, readUnannounced } from '../../../src/features/events/unannounced.js'
import { forgetTenant } from '../../../src/features/forget/work.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { depsOf, sync } from '../../support/harness/runs.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { putEvents, putListener } from '../../support/world/inboxrows.js'

const minute = 60_000_000n
const day = 1440n * minute

describe.each(warehouses())('on $name', (kind) => {
  let sandbox: Sandbox
  let warehouse: Warehouse
  let inbox: Inbox
  let began: bigint

  beforeEach(async () => {
    sandbox = await createSandbox({ tenants: 2, repairOrders: 10, seed: 5 })
    warehouse = await open(kind)
    await sync(sandbox, warehouse)
    inbox = await Inbox.open(warehouse)
    began = systemClock.nowMicros()
  })
  afterEach(async () => {
    await inbox.close()
    await warehouse.close()
    await sandbox.close()
  })

  const at = (after: bigint): string => fromMicros(began + after)
  const tenant = (): number => sandbox.tenantIds[0] ?? 0
  const ids = (): number[] => sandbox.store.ids(tenant(), 'repair_orders')
  const listen = (up: bigint, seen: bigint): Promise<void> =>
    putListener(inbox, { up_at: at(up), seen_at: at(seen) })

  const judge = async (after: bigint, keep = 30 * 86_400_000): Promise<void> => {
    const { deps, close } = await depsOf(sandbox, warehouse)
    const { config, model } = deps
    await judgeUnannounced({ config, model, warehouse, inbox, keep }, began + after)
    await close()
  }
  const found = async (after = 120n * minute) => readUnannounced(inbox, at(after))

  const change = async (...records: number[]): Promise<string[]> => {
    for (const id of records) sandbox.store.change(tenant(), 'repair_orders', id, { detail: 'changed' })
    await sync(sandbox, warehouse)
    const rows = (await rowsOf(warehouse, 'repair_orders')).filter((row) => row.tenant_id === tenant())
    return records.map((id) => String(rows.find((row) => row.id === id)?.updated_at))
  }
  const event = (record_id: number, more: object) =>
    putEvents(inbox, [
      {
        tenant_id: tenant(),
        event_id: `e${record_id}`,
        record_id,
        received_at: at(minute),
        state: 'settled',
        ...more,
      },
    ])

  it('counts changes without an event, once, an hour after them', async () => {
    await listen(-20n * minute, 200n * minute)
    await judge(0n)
    const [a = 0, b = 0, c = 0, d = 0] = ids()
    const [version = ''] = await change(a, b, c, d)
    await event(a, { version })
    await event(b, { version: null, action: 'created' })
    await event(c, { version: fromMicros(began - minute) })
    await judge(59n * minute)
    expect(await found()).toEqual([])
    await judge(62n * minute)
    const expected = [{ resource: 'repair_orders', changes: 4, unannounced: 2 }]
    expect(await found()).toEqual(expected)
    await judge(63n * minute)
    expect(await found()).toEqual(expected)
    expect(await found(32n * day)).toEqual([])
    await judge(32n * day)
    const left = await inbox.read((db) =>
      db.selectFrom('sync_event_counts').selectAll().where('metric', '=', 'changes').execute(),
    )
    expect(left).toEqual([])
  })

  it('counts nothing from a time when nobody listened, or had just started', async () => {
    await judge(0n)
    await change(ids()[0] ?? 0)
    await listen(-10n * minute, 200n * minute)
    await judge(120n * minute)
    expect(await found()).toEqual([])
  })

  it('counts nothing that existed when a list was first judged, or whose events may be gone', async () => {
    await listen(-60n * minute, 200n * minute)
    const [a = 0, b = 0] = ids()
    await change(a)
    await judge(minute)
    await judge(120n * minute)
    expect(await found()).toEqual([])
    await change(b)
    await judge(240n * minute, 3_600_000)
    expect(await found()).toEqual([])
  })

  it('is judged by one of two listeners', async () => {
    await listen(-20n * minute, 200n * minute)
    await judge(0n)
    await change(ids()[0] ?? 0)
    await Promise.all([judge(62n * minute), judge(62n * minute)])
    expect(await found()).toEqual([{ resource: 'repair_orders', changes: 1, unannounced: 1 }])
  })

  it("a tenant's progress is forgotten with it, and no other's", async () => {
    await judge(0n)
    const tenants = async (): Promise<unknown[]> => {
      const rows = await inbox.read((db) =>
        db.selectFrom('sync_event_counts').select('labels').where('metric', '=', 'judged_through').execute(),
      )
      return [...new Set(rows.map(({ labels }) => (JSON.parse(labels) as { tenant: string }).tenant))].sort()
    }
    const [first = 0, second = 0] = sandbox.tenantIds
    expect(await tenants()).toEqual([first, second].map(String).sort())
    const { deps, close } = await depsOf(sandbox, warehouse)
    await forgetTenant({ ...deps, besides: [Inbox] }, first)
    await close()
    expect(await tenants()).toEqual([String(second)])
  })
})
