/** The listener beside shards: it rings the tenants of shards that nobody works on, and those at work ring their own. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shardIndex } from '../../../src/engine/base/shard.js'
import { bothWarehouses, claimLease, type Lease, LeaseHeld, rowsOf } from '../../support/harness/warehouse.js'
import { EventWorld, list } from '../../support/world/eventworld.js'

const postgres = bothWarehouses().find(({ name }) => name === 'postgres')!

describe('on postgres', () => {
  let world: EventWorld
  const held: Lease[] = []
  beforeEach(async () => {
    world = await EventWorld.open(postgres)
  })
  afterEach(async () => {
    for (const lease of held.splice(0)) await lease.release()
    await world.close()
  })

  /** The two tenants are in different shards of this many. */
  const of = 64
  const [first, second] = [() => world.sandbox.tenantIds[0] ?? 0, () => world.sandbox.tenantIds[1] ?? 0]
  const work = async (tenant: number): Promise<void> => {
    const shard = { index: shardIndex(tenant, of), of }
    held.push(
      await claimLease(world.warehouse, { runId: `${tenant}`, command: 'sync', leaseMs: 60_000, shard }),
    )
  }
  const put = async (tenant: number): Promise<void> => {
    const [id = 0] = world.sandbox.store.ids(tenant, list)
    world.sandbox.store.change(tenant, list, id, { detail: 'changed' })
    await world.put({ tenant, id })
  }
  const holders = async () =>
    (await rowsOf(world.warehouse, 'sync_lease'))
      .filter(({ owner }) => owner !== null)
      .map(({ name }) => name)

  it('a turn rings the other tenants, under the names of their shards', async () => {
    expect(shardIndex(first(), of)).not.toBe(shardIndex(second(), of))
    await work(first())
    await put(second())
    const names: unknown[] = []
    world.sandbox.onRequest(async () => void names.push(...(await holders())))
    expect(await world.turn()).toEqual({ by: 'done' })
    expect(await world.events.states()).toEqual(['settled'])
    const own = [first(), second()].map((tenant) => `${shardIndex(tenant, of)}/${of}`)
    expect(new Set(names)).toEqual(new Set(own))
    expect(await holders()).toEqual([own[0]])
  })

  it('what is due in a shard at work waits for it, and the run of the shard rings it beside its plan', async () => {
    await work(first())
    await put(first())
    await expect(world.turn()).rejects.toBeInstanceOf(LeaseHeld)
    await put(second())
    expect(await world.turn()).toEqual({ by: 'wanted' })
    expect(await world.events.states()).toEqual(['waiting', 'settled'])
    await put(second())
    await held.pop()?.release()
    const shard = { index: shardIndex(first(), of), of }
    const { beside } = world.events
    let isReleased = false
    world.sandbox.onRequest(async ({ tenant, resource }) => {
      // The planned work lasts until the ring has settled what is due.
      if (resource !== 'customers' || String(tenant) !== String(first()) || isReleased) return
      isReleased = true
      await expect.poll(() => world.events.states(), { timeout: 10_000 }).toContain('settled')
    })
    await world.sync({ beside, shard, tenants: [first()], resources: ['customers'] })
    expect(await world.events.states()).toEqual(['settled', 'settled', 'waiting'])
    await world.turn()
    expect(await world.events.states()).toEqual(['settled', 'settled', 'settled'])
  })
})
