/** An event rings what is synced at the time of the ring, whatever was synced when it came. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { warehouses } from '../../support/harness/warehouse.js'
import { EventWorld, list } from '../../support/world/eventworld.js'

describe.each(warehouses())('on $name', (kind) => {
  let world: EventWorld
  beforeEach(async () => {
    world = await EventWorld.open(kind)
  })
  afterEach(() => world.close())

  it("a tenant that is no longer granted or selected isn't requested", async () => {
    const [tenant = 0, other = 0] = world.sandbox.tenantIds
    await world.put({ tenant, id: 1 })
    await world.put({ tenant: other, id: 1 })
    world.sandbox.store.revoke(tenant)
    await world.sync({ resources: ['customers'], beside: world.events.settling })
    world.requests()
    await world.turn({ exceptTenants: [other] })
    expect(await world.events.states()).toEqual(['ignored tenant_not_synced', 'ignored tenant_not_synced'])
    expect(world.requests()).toEqual({ lists: 0, items: 0 })
  })

  it("a resource that the source doesn't offer isn't requested", async () => {
    world.sandbox.store.switchOff('vendors')
    await world.sync({ resources: ['vendors'] })
    world.requests()
    await world.events.put({ tenant: world.tenant, resource: 'vendors', id: 1 })
    await world.turn()
    expect(await world.events.states()).toEqual(['ignored unavailable'])
    expect(world.requests()).toEqual({ lists: 0, items: 0 })
    world.sandbox.store.switchOn('vendors')
    await world.sync({ resources: ['vendors'] })
    await world.events.put({ tenant: world.tenant, resource: 'vendors', id: 2 })
    await world.turn()
    expect(await world.events.states()).toEqual([
      'ignored unavailable',
      expect.stringMatching(/^(waiting|settled)/),
    ])
  })

  it('a tenant that is granted again is rung again', async () => {
    const { tenant } = world
    world.sandbox.store.revoke(tenant)
    await world.sync({ resources: ['customers'] })
    world.sandbox.store.grant(tenant)
    await world.sync({ resources: ['customers'] })
    const [id = 0] = world.orders
    world.change(id)
    await world.events.put({ tenant, resource: list, id })
    await world.turn()
    expect(await world.events.states()).toEqual(['settled'])
    expect(await world.row(id)).toMatchObject({ detail: 'changed' })
  })
})
