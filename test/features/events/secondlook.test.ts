/**
 * An event announces a version. If the walk doesn't leave the record at that version, the list is checked again, and
 * then the record is requested by id, once. Nothing that the source has is missed, and nothing that it never had costs
 * more.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pausesMs } from '../../../src/features/events/settling.js'
import type { Page, Source } from '../../support/harness/runs.js'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { EventWorld, list, minute } from '../../support/world/eventworld.js'

/** A source whose lists hide an existing record. */
const hiding = (id: number) => (source: Source) =>
  new Between(source, async ({ path }, ask) => {
    const page = await ask()
    const without = (records: readonly unknown[]): unknown[] =>
      records.filter((record) => (record as { id?: unknown }).id !== id)
    if (path !== list || without(page.records).length === page.records.length) return page
    const shown: Page = { ...page, records: without(page.records), total: page.total - 1 }
    return { ...shown, tokens: () => without(page.tokens() as unknown[]) } as Page
  })

describe.each(warehouses())('on $name', (kind) => {
  let world: EventWorld
  beforeEach(async () => {
    world = await EventWorld.open(kind)
  })
  afterEach(() => world.close())

  /** Ends the pause after each check; returns how many walks and requests by id that took. */
  async function lookTillItEnds(
    around?: (source: Source) => Source,
  ): Promise<{ walks: number; items: number }> {
    let [walks, items] = [0, 0]
    for (const pause of [...pausesMs, 0]) {
      await world.turn(around && { around })
      const asked = world.requests()
      walks += asked.lists
      items += asked.items
      world.clock.pass(pause)
    }
    await world.turn(around && { around })
    expect(world.requests()).toEqual({ lists: 0, items: 0 })
    return { walks, items }
  }

  it('a list that hides a record which exists by id: it is stored, and reported', async () => {
    const [id = 0] = world.orders
    const version = world.change(id)
    await world.put({ id, version })
    const notices: [string, Record<string, unknown>][] = []
    const around = hiding(id)
    for (const pause of [...pausesMs, 0]) {
      await world.turn({ around, notices })
      world.clock.pass(pause)
    }
    expect(await world.events.states()).toEqual(['settled not_listed'])
    expect(await world.row(id)).toMatchObject({ detail: 'changed', updated_at: version })
    const told = notices.filter(([message]) => message.includes('does not show'))
    expect(told.map(([, { records }]) => records)).toEqual([[id]])
    // The next walk saw nothing new: a hidden record doesn't affect the list's verdict.
    expect(await world.cursor()).toMatchObject({ completeness: 'proven', status: 'ok' })
  })

  it('a lagging list: it is checked again until it shows the version', async () => {
    const [id = 0] = world.orders
    let version = ''
    const show = world.lag(id, () => {
      version = world.change(id)
    })
    await world.put({ id, version })
    await world.turn()
    expect(await world.events.states()).toEqual(['waiting not_listed'])
    // Not due before its pause is over.
    world.requests()
    await world.turn()
    expect(world.requests()).toEqual({ lists: 0, items: 0 })
    show()
    world.clock.pass(5000)
    await world.turn()
    expect(world.requests().items).toBe(0)
    expect(await world.events.states()).toEqual(['settled'])
    expect(await world.row(id)).toMatchObject({ detail: 'changed' })
  })

  it('a record that is committed ten minutes late is stored, and counts as late', async () => {
    const [id = 0, other = 0] = world.orders
    let version = ''
    const show = world.lag(id, () => {
      version = world.change(id)
    })
    await world.put({ id, version })
    for (const pause of pausesMs.slice(0, 3)) {
      await world.turn()
      world.clock.pass(pause)
    }
    await world.turn()
    // The list moves on: the record becomes visible below the floor of the next walk.
    world.clock.pass(8 * minute)
    world.change(other)
    await world.sync({ resources: [list], beside: world.events.beside })
    expect(await world.events.states()).toEqual(['waiting not_listed'])
    world.clock.pass(2 * minute)
    show()
    await world.turn()
    expect(await world.events.states()).toEqual(['settled not_listed'])
    expect(await world.row(id)).toMatchObject({ detail: 'changed' })
    const late = (await rowsOf(world.warehouse, 'sync_lateness')).filter((row) => Number(row.largest_us) > 0)
    expect(late).toMatchObject([{ resource: list, way: 'walk', records: 1 }])
    expect(Number(late[0]?.largest_us)).toBeGreaterThan(10 * minute * 1000)
  })

  it('a version that nobody else has seen costs five walks and one request', async () => {
    const [id = 0] = world.orders
    await world.put({ id, version: world.later(world.version(id), 1000) })
    const before = await world.row(id)
    expect(await lookTillItEnds()).toEqual({ walks: 5, items: 1 })
    expect(await world.events.states()).toEqual(['unseen not_listed'])
    expect(await world.row(id)).toMatchObject({ detail: before?.detail, updated_at: before?.updated_at })
  })

  it('costs no more if the list is walked all the time', async () => {
    const [id = 0, other = 0] = world.orders
    await world.put({ id, version: world.later(world.version(id), 1000) })
    for (let i = 0; i < 8; i++) {
      world.change(other, { detail: `change ${i}` })
      await world.put({ id: other, version: world.version(other) })
      await world.turn()
    }
    expect(world.requests().items).toBe(0)
    const [forged] = await world.events.rows()
    expect(forged).toMatchObject({ state: 'waiting', reason: 'not_listed', tries: 1 })
  })

  it('a record that never existed ends as unseen, too', async () => {
    await world.put({ id: 777_777, action: 'created', version: world.version(world.orders[0] ?? 0) })
    expect(await lookTillItEnds()).toEqual({ walks: 5, items: 1 })
    expect(await world.events.states()).toEqual(['unseen not_listed'])
  })

  it("even if the source doesn't answer by id", async () => {
    const [id = 0] = world.orders
    world.sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 404 } }])
    await world.put({ id, version: world.later(world.version(id), 1000) })
    for (const pause of [...pausesMs, ...pausesMs, minute]) {
      await world.turn()
      world.clock.pass(pause)
    }
    expect(await world.events.states()).toEqual(['unseen not_listed'])
    expect((await world.row(id))?._deleted_at).toBeNull()
  })

  it('a record that breaks its answer by id is requested a few times, and delays no other', async () => {
    const [id = 0, other = 0] = world.orders
    world.sandbox.script([{ when: { kind: 'item', id }, fault: { kind: 'status', status: 500 } }])
    await world.put({ id, version: world.later(world.version(id), 1000) })
    await world.put({ id: other, version: world.later(world.version(other), 1000) })
    for (const pause of [...pausesMs, ...pausesMs, 10 * minute]) {
      await world.turn()
      world.clock.pass(pause)
    }
    await world.turn()
    expect(await world.events.states()).toEqual(['unseen not_asked', 'unseen not_listed'])
  })

  it("a version in the future isn't evidence", async () => {
    const [id = 0] = world.orders
    await world.put({ id, version: world.later(world.now, 3 * 60 * minute) })
    await world.turn()
    expect(await world.events.states()).toEqual(['settled'])
    expect(world.requests()).toEqual({ lists: 1, items: 0 })
  })

  it('a record in quarantine is settled, and its list continues', async () => {
    const [id = 0, other = 0] = world.orders
    const version = world.change(id)
    const broken = { kind: 'alter', path: 'updated_at', to: 'no time', records: { first: 1 } } as const
    world.sandbox.script([{ when: { resource: list, kind: 'list' }, fault: broken }])
    await world.put({ id, version })
    await world.turn()
    expect(await world.events.states()).toEqual(['settled'])
    expect(await rowsOf(world.warehouse, 'sync_quarantine')).toMatchObject([
      { record_id: String(id), path: '' },
    ])
    // A record that can't be stored fails the ring, but its cursor can still be rung.
    world.sandbox.script([])
    await world.put({ id: other, version: world.change(other) })
    await world.turn()
    expect(await world.events.states()).toEqual(['settled', 'settled'])
  })

  it('compares at the coarser precision of the two', async () => {
    const [id = 0] = world.orders
    const version = world.change(id)
    // An event has microseconds and the list prints whole seconds, and vice versa.
    await world.put({ id, version: `${version.slice(0, 20)}999999Z` })
    await world.put({ id, version: `${version.slice(0, 20)}000000Z` })
    await world.warehouse.write([
      world.warehouse.db
        .updateTable(list)
        .set({ updated_at: `${version.slice(0, 20)}000000Z` })
        .where('id', '=', id)
        .compile(),
    ])
    await world.turn()
    expect((await world.events.states()).at(1)).toBe('settled')
  })
})
