/** What a ring does: a cursor's events make it due, its walk fetches what changed, and settles them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { sync } from '../../support/harness/runs.js'
import { until } from '../../support/harness/scheduler.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { EventBench } from '../../support/world/events.js'

describe.each(warehouses())('on $name', (kind) => {
  let sandbox: Sandbox
  let warehouse: Warehouse
  let events: EventBench

  beforeEach(async () => {
    sandbox = await createSandbox({ tenants: 2, repairOrders: 30, seed: 5 })
    warehouse = await open(kind)
    expect((await sync(sandbox, warehouse)).status).toBe('ok')
    events = await EventBench.open(sandbox, warehouse)
    sandbox.resetRequests()
  })
  afterEach(async () => {
    await events.inbox.close()
    await warehouse.close()
    await sandbox.close()
  })

  const tenant = (): number => sandbox.tenantIds[0] ?? 0
  const orders = (): number[] => sandbox.store.ids(tenant(), 'repair_orders')
  const lists = () => sandbox.requests.filter(({ path }) => !path.includes('authorizations'))
  const row = async (id: number) =>
    (await rowsOf(warehouse, 'repair_orders')).find((one) => one.id === id && one.tenant_id === tenant())

  const change = (id: number): void => {
    sandbox.store.change(tenant(), 'repair_orders', id, { detail: 'changed' })
  }

  it('fetches the change with one request, proven, and settles what waited', async () => {
    const [id = 0] = orders()
    change(id)
    await events.put({ tenant: tenant(), resource: 'repair_orders', id })
    await events.put({ tenant: tenant(), resource: 'repair_orders', id })
    expect(await events.turn()).toEqual({ by: 'done' })
    expect(await row(id)).toMatchObject({ detail: 'changed' })
    expect(await events.states()).toEqual(['settled', 'settled'])
    expect(lists().length).toBe(1)
    const [cursor] = (await rowsOf(warehouse, 'sync_run_cursors')).filter(({ mode }) => mode === 'events')
    expect(cursor).toMatchObject({ completeness: 'proven', status: 'ok', requests: 1 })
    const runs = (await rowsOf(warehouse, 'sync_runs')).filter(({ mode }) => mode === 'events')
    expect(runs).toMatchObject([{ status: 'ok', requests: 1, run_id: cursor?.run_id }])
  })

  it('fetches it once, if it ends between what the next look has read and what follows from that', async () => {
    const [id = 0] = orders()
    change(id)
    const clock = new HandClock(new Date().toISOString(), 1n).still
    await events.inbox.close()
    events = await EventBench.open(sandbox, warehouse, clock)
    await events.put({ tenant: tenant(), resource: 'repair_orders', id })
    const { inbox, memory } = events
    const [read, worked] = [inbox.read.bind(inbox), memory.worked.bind(memory)]
    let looks = 0
    const ended = new Promise<void>((resolve) => {
      memory.worked = (key) => {
        worked(key)
        setImmediate(resolve)
      }
    })
    inbox.read = async (work) => {
      const found = await read(work)
      const isOfLook = Array.isArray(found) && found.some((one) => 'since' in one)
      if (isOfLook && ++looks === 2) await ended
      return found
    }
    sandbox.onRequest(() => until(() => looks >= 2))
    expect(await events.turn()).toEqual({ by: 'done' })
    expect(await events.states()).toEqual(['settled'])
    expect([looks >= 2, lists().length]).toEqual([true, 1])
  })

  it('adds to the row of its hour', async () => {
    const [a = 0, b = 0] = orders()
    for (const id of [a, b]) {
      change(id)
      await events.put({ tenant: tenant(), resource: 'repair_orders', id })
      await events.turn()
    }
    const cursors = (await rowsOf(warehouse, 'sync_run_cursors')).filter(({ mode }) => mode === 'events')
    expect(cursors.reduce((sum, { requests }) => sum + Number(requests), 0)).toBe(2)
  })

  it('is done by a run alongside its plan, whose own verdict stays', async () => {
    const [id = 0] = orders()
    change(id)
    await events.put({ tenant: tenant(), resource: 'repair_orders', id })
    const report = await sync(sandbox, warehouse, {
      mode: 'sync',
      resources: ['notes'],
      beside: events.beside,
    })
    expect(report.cursors.map(({ resource }) => resource)).not.toContain('repair_orders')
    expect(await events.states()).toEqual(['settled'])
    expect(await row(id)).toMatchObject({ detail: 'changed' })
  })

  it('is settled by any walk that sees it', async () => {
    const [id = 0] = orders()
    change(id)
    await events.put({ tenant: tenant(), resource: 'repair_orders', id })
    const report = await sync(sandbox, warehouse, { beside: events.beside })
    expect(report.status).toBe('ok')
    expect(await events.states()).toEqual(['settled'])
  })

  it('marks a record as deleted if the source confirms it', async () => {
    const [id = 0, other = 0] = orders()
    sandbox.store.remove(tenant(), 'repair_orders', id)
    await events.put({ tenant: tenant(), resource: 'repair_orders', id, action: 'deleted' })
    await events.put({ tenant: tenant(), resource: 'repair_orders', id: other, action: 'deleted' })
    await events.turn()
    expect((await row(id))?._deleted_at).not.toBeNull()
    expect((await row(other))?._deleted_at).toBeNull()
    expect(await events.states()).toEqual(['deleted', 'waiting exists'])
    for (let i = 0; i < 4; i++) {
      await events.hurry()
      await events.turn()
    }
    expect(await events.states()).toEqual(['deleted', 'exists'])
  })

  it('looks again for a version that nobody has seen, and finally requests it by id', async () => {
    const [id = 0] = orders()
    const version = new Date(Date.now() + 30_000).toISOString().replace('Z', '000Z')
    await events.put({ tenant: tenant(), resource: 'repair_orders', id, version })
    await events.turn()
    expect(await events.states()).toEqual(['waiting not_listed'])
    for (let i = 0; i < 4; i++) {
      await events.hurry()
      await events.turn()
    }
    expect(await events.states()).toEqual(['unseen not_listed'])
  })

  it('leaves unsynced cursors alone', async () => {
    await events.put({ tenant: 999, resource: 'repair_orders', id: 1 })
    await events.put({ tenant: tenant(), resource: 'no_such', id: 1 })
    await events.turn()
    expect(await events.states()).toEqual(['ignored tenant_not_synced', 'ignored resource_not_synced'])
    expect(lists()).toEqual([])
  })
})
