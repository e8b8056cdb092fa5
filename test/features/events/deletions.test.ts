/** Only the source can confirm a deletion: an event makes us ask, and only the answer marks a record as deleted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pausesMs } from '../../../src/features/events/settling.js'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { EventWorld, list, minute } from '../../support/world/eventworld.js'

describe.each(warehouses())('on $name', (kind) => {
  let world: EventWorld
  beforeEach(async () => {
    world = await EventWorld.open(kind, { repairOrders: 60 })
  })
  afterEach(() => world.close())

  const remove = (id: number): boolean => world.sandbox.store.remove(world.tenant, list, id)
  const gone = async (): Promise<number> =>
    (await rowsOf(world.warehouse, list)).filter(({ _deleted_at }) => _deleted_at !== null).length
  const deleted = (id: number) => world.put({ id, action: 'deleted' })

  it('404, and a live id answers: the turn that sees it marks it as deleted', async () => {
    const [id = 0] = world.orders
    remove(id)
    await deleted(id)
    await world.turn()
    expect((await world.row(id))?._deleted_at).not.toBeNull()
    expect(await world.events.states()).toEqual(['deleted'])
    // The walk, the request, the list for a live id, and the request for that one.
    expect(world.requests()).toEqual({ lists: 2, items: 2 })
    const [run] = (await rowsOf(world.warehouse, 'sync_run_cursors')).filter(({ mode }) => mode === 'events')
    expect(run).toMatchObject({ completeness: 'proven', status: 'ok' })
  })

  it('one that the source refuses by id stays, and the others are marked', async () => {
    const [refused = 0, id = 0] = world.orders
    world.sandbox.script([{ when: { kind: 'item', id: refused }, fault: { kind: 'status', status: 403 } }])
    for (const one of [refused, id]) {
      remove(one)
      await deleted(one)
    }
    await world.turn()
    expect((await world.row(refused))?._deleted_at).toBeNull()
    expect((await world.row(id))?._deleted_at).not.toBeNull()
    expect((await world.events.states()).sort()).toEqual(['deleted', 'waiting refused'])
    for (const pause of [...pausesMs, minute]) {
      // One answer that can't be read doesn't begin the tries again.
      const status = pause === pausesMs[1] ? 500 : 403
      world.sandbox.script([{ when: { kind: 'item', id: refused }, fault: { kind: 'status', status } }])
      world.clock.pass(pause)
      await world.turn()
    }
    expect((await world.events.states()).sort()).toEqual(['deleted', 'left refused'])
  })

  it('a record that exists stays, and is requested five times, with pauses', async () => {
    const [id = 0, other = 0] = world.orders
    await deleted(id)
    let items = 0
    for (const pause of [...pausesMs, 0]) {
      await world.turn()
      // Walks between the pauses request nothing.
      await world.put({ id: other, version: world.change(other) })
      await world.turn()
      items += world.requests().items
      world.clock.pass(pause)
    }
    expect(items).toBe(5)
    expect((await world.events.states())[0]).toBe('exists')
    expect(await gone()).toBe(0)
  })

  it('one that is deleted before it is requested again is marked then', async () => {
    const [id = 0] = world.orders
    await deleted(id)
    await world.turn()
    expect(await world.events.states()).toEqual(['waiting exists'])
    remove(id)
    world.clock.pass(5000)
    await world.turn()
    expect(await world.events.states()).toEqual(['deleted'])
    expect(await gone()).toBe(1)
  })

  it("one that the warehouse doesn't have, or has as deleted, is settled", async () => {
    const [id = 0] = world.orders
    remove(id)
    await deleted(id)
    await world.turn()
    world.requests()
    await deleted(id)
    await deleted(777_777)
    await world.turn()
    expect(await world.events.states()).toEqual(['deleted', 'settled', 'settled'])
    expect(world.requests()).toEqual({ lists: 1, items: 0 })
  })

  it('more than is believed per hour are left, however many come at once', async () => {
    const notices: [string, Record<string, unknown>][] = []
    for (const id of world.orders.slice(0, 20)) {
      remove(id)
      await deleted(id)
      await world.turn({ notices })
      world.clock.pass(minute)
    }
    const states = await world.events.states()
    const left = states.filter((state) => state === 'left breaker').length
    // A fifth of sixty may go.
    expect(await gone()).toBe(states.length - left)
    expect(await gone()).toBe(12)
    const hints = notices.map(([, { hint }]) => hint).filter((hint) => hint !== undefined)
    expect(hints.length).toBe(left)
    expect(new Set(hints)).toEqual(
      new Set([`shopsync reconcile --accept-deletes --tenant ${world.tenant} --resource ${list}`]),
    )
    await world.sync({
      mode: 'reconcile',
      resources: [list],
      acceptDeletes: true,
      beside: world.events.beside,
    })
    expect(await gone()).toBe(20)
  })

  it("if the source doesn't answer by id, a second list decides", async () => {
    const [id = 0, other = 0] = world.orders
    world.sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 404 } }])
    remove(id)
    await deleted(id)
    await deleted(other)
    await world.turn()
    expect(await world.events.states()).toEqual(['deleted', 'waiting exists'])
    expect((await world.row(id))?._deleted_at).not.toBeNull()
    expect((await world.row(other))?._deleted_at).toBeNull()
  })

  it('if no existing record is left to request, it is left to reconcile', async () => {
    const [first = 0] = world.orders
    for (const id of world.orders) remove(id)
    await deleted(first)
    await world.turn()
    expect(await gone()).toBe(0)
    expect((await world.events.states())[0]).toMatch(/left nothing_to_ask|waiting/)
  })

  it('one whose answer always fails is left in the end, and delays no other', async () => {
    const [id = 0, other = 0] = world.orders
    world.sandbox.script([{ when: { kind: 'item', id }, fault: { kind: 'status', status: 500 } }])
    remove(other)
    await deleted(id)
    await deleted(other)
    await world.turn()
    expect(await world.events.states()).toEqual(['waiting not_asked', 'deleted'])
    for (const pause of [...pausesMs, minute]) {
      world.clock.pass(pause)
      await world.turn()
    }
    expect((await world.events.states())[0]).toBe('left not_asked')
    expect((await world.row(id))?._deleted_at).toBeNull()
  })
})
