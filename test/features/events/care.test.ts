/** The inbox is separate from the warehouse: forget, adopt and copy must not leave it out. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import { adopt } from '../../../src/features/adopt/work.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import { forgetTenant } from '../../../src/features/forget/work.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { model as compose } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { sync } from '../../support/harness/runs.js'
import { sample } from '../../support/harness/size.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { copyInto } from '../../support/world/copying.js'
import { EventBench } from '../../support/world/events.js'

const model = compose(resources)
const besides = [Inbox]

describe.each(bothWarehouses())('on $name', (kind) => {
  let sandbox: Sandbox
  let address: Address
  let warehouse: Warehouse
  let events: EventBench

  beforeEach(async () => {
    sandbox = await createSandbox({ tenants: 2, repairOrders: 3, seed: 5 })
    address = await kind.migrated()
    warehouse = await reopen(address)
    await sync(sandbox, warehouse, { resources: ['repair_orders', 'notes'] })
    events = await EventBench.open(sandbox, warehouse)
    for (const tenant of sandbox.tenantIds)
      await events.put({ tenant, resource: 'repair_orders', id: 77_777 })
  })
  afterEach(async () => {
    await events.inbox.close()
    await warehouse.close()
    await sandbox.close()
  })

  const tenants = async (): Promise<unknown[]> =>
    (await events.inbox.read((db) => db.selectFrom('sync_events').select('tenant_id').execute())).map(
      ({ tenant_id }) => tenant_id,
    )

  it("forget erases the tenant's events", async () => {
    const [tenant = 0, other = 0] = sandbox.tenantIds
    const gone = await forgetTenant({ warehouse, model, clock: systemClock, besides }, tenant)
    expect(gone.tables).toContainEqual({ table: 'sync_events', rows: 1 })
    expect(await tenants()).toEqual([other])
  })

  it('adopt empties it, unless the data is the same', async () => {
    const to = { baseUrl: 'http://127.0.0.1:1', partnerId: '7' }
    const up_at = '2026-01-01T00:00:00.000000Z'
    const { db } = events.inbox
    await events.inbox.write([
      db.insertInto('sync_listeners').values({ listener_id: 'one', source: 'http://a 42', up_at }).compile(),
    ])
    const deps = { warehouse, clock: systemClock, besides }
    await adopt(deps, to, true)
    expect([await events.inbox.source(), (await tenants()).length]).toEqual(['http://127.0.0.1:1 7', 2])
    await adopt(deps, { ...to, partnerId: '8' }, false)
    expect(await tenants()).toEqual([])
  })

  // From each, and to each; copy.test.ts does each pair. Of what is read while events come, one target shows most.
  const targets = bothWarehouses().filter(({ name }) => name === 'sqlite' || kind.name === 'sqlite')

  it.each(sample(targets))('copy to $name keeps reading while events come', async (other) => {
    const [tenant = 0] = sandbox.tenantIds
    const put = (n: number): Promise<void> =>
      events.putAll(Array.from({ length: n }, () => ({ tenant, resource: 'repair_orders', id: 1 })))
    await put(1200)
    let isCopying = true
    const copying = copyInto(address, other.address(), { besides, model }).finally(() => {
      isCopying = false
    })
    while (isCopying) {
      await put(5)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const report = await copying
    const table = report.tables.find(({ table: name }) => name === 'sync_events')
    expect([report.status, table?.equal]).toEqual(['ok', true])
    expect(table?.rows).toBeGreaterThanOrEqual(1202)
    expect((await tenants()).length).toBeGreaterThan(1202)
  })

  it.each(targets)('copy to $name copies it, too', async (other) => {
    await warehouse.close()
    const to = other.address()
    const report = await copyInto(address, to, { besides, model })
    expect(report.tables).toContainEqual(
      expect.objectContaining({ table: 'sync_events', rows: 2, equal: true }),
    )
    expect(report.left_out).toEqual([])
    // Nobody listens to the copy.
    expect(report.tables.map(({ table }) => table)).not.toContain('sync_listeners')
    const copy = await reopen(to)
    const inbox = await Inbox.there(copy)
    const rows = await inbox?.read((db) => db.selectFrom('sync_events').select('state').execute())
    expect(rows).toEqual([{ state: 'waiting' }, { state: 'waiting' }])
    await inbox?.close()
    await copy.close()
    warehouse = await reopen(address)
  })
})
