/** Very many events: none of them ends a run or the listener, and each turn keeps what it has done. */
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import type { Source } from '../../support/harness/runs.js'
import { isWhole } from '../../support/harness/size.js'
import { bothWarehouses, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { EventWorld, list, minute } from '../../support/world/eventworld.js'

describe.each(bothWarehouses())('on $name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  let world: EventWorld
  afterEach(() => world.close())

  const deletionsOf = (ids: readonly number[]) =>
    world.events.putAll(
      ids.map((id) => ({ tenant: world.tenant, resource: list, id, action: 'deleted' as const })),
    )
  /** Deletions of records that never were. */
  const deletionsOfNone = (amount: number): Promise<number> => {
    const { inbox } = world.events
    const at = sql.lit(world.now)
    const rows = sql<never>`with recursive n(i) as (select 1000000 union all select i + 1 from n where i < 999999 + ${sql.lit(amount)})
      select ${sql.lit(world.tenant)}, 'e' || i, ${sql.lit(list)}, 'RepairOrder', 'deleted', i, ${at}, 1, 'waiting', 0, ${at} from n`
    const insert = inbox.db
      .insertInto('sync_events')
      .columns([
        ...(['tenant_id', 'event_id', 'resource', 'type', 'action', 'record_id'] as const),
        ...(['received_at', 'deliveries', 'state', 'tries', 'due_at'] as const),
      ])
      .expression(rows)
    return inbox.write([insert.compile()])
  }
  /** How many events are in each state. */
  const counted = async (): Promise<Record<string, number>> => {
    const found: Record<string, number> = {}
    for (const state of await world.events.states()) found[state] = (found[state] ?? 0) + 1
    return found
  }

  it('more deletions than a statement can name values are settled', async () => {
    world = await EventWorld.open(kind, { repairOrders: 60 })
    const amount = kind.name === 'sqlite' ? 33_000 : 66_000
    const [gone = 0, there = 0] = world.orders
    world.sandbox.store.remove(world.tenant, list, gone)
    await deletionsOfNone(amount)
    await deletionsOf([gone, there])
    await world.turn()
    expect(await counted()).toEqual({ settled: amount, deleted: 1, 'waiting exists': 1 })
    expect((await world.row(gone))?._deleted_at).not.toBeNull()
    // The walk, two records by id, and a live one with the list that names it.
    expect(world.requests()).toEqual({ lists: 2, items: 3 })
  })

  describe('with 60 requests a minute', () => {
    const begin = async (repairOrders: number): Promise<void> => {
      const orders = { repairOrders, tenants: 1, rate: { limit: 60 } }
      world = await EventWorld.open(kind, orders, { resources: [list] })
      nextWindow()
    }

    const nextWindow = (): void => world.clock.pass(minute - ((Number(world.clock.micros) / 1000) % minute))

    test('each turn settles what it has asked for, so all is asked for after as many as it takes', async () => {
      const amount = isWhole() ? 300 : 110
      await begin(amount + 20)
      const ids = world.orders.slice(0, amount)
      const gone = ids.filter((_, i) => i % 5 === 0)
      for (const id of gone) world.sandbox.store.remove(world.tenant, list, id)
      await deletionsOf(ids)
      const left: number[] = [amount]
      while ((left.at(-1) ?? 0) > 0 && left.length < 10) {
        await world.turn()
        left.push((await counted()).waiting ?? 0)
        nextWindow()
      }
      // One request for the walk, and a live id for each part.
      for (const [i, before] of left.slice(0, -2).entries())
        expect(before - (left[i + 1] ?? 0)).toBeGreaterThan(45)
      expect(left).toHaveLength(1 + Math.ceil(amount / 54))
      const rows = await rowsOf(world.warehouse, list)
      expect(rows.filter(({ _deleted_at }) => _deleted_at !== null)).toHaveLength(gone.length)
    })

    test('a ring that is cut short twice is left to the next run, and new events do not ring it', async () => {
      await begin(350)
      const { clock, events } = world
      for (const id of world.orders) world.change(id, { detail: 'in bulk' })
      const [id = 0] = world.orders
      await world.put({ id, version: world.version(id) })
      const notices: [string, Record<string, unknown>][] = []
      const small = { pageSizes: [3, 4, 5], readAhead: 0, notices }
      expect(await world.turn(small)).toMatchObject({ by: 'window' })
      expect(await events.states()).toEqual(['waiting cut_short'])
      nextWindow()
      expect(await world.turn(small)).toMatchObject({ by: 'window' })
      expect(notices.filter(([message]) => message.includes('cut short'))).toHaveLength(1)
      nextWindow()
      await world.put({ id })
      // Another process doesn't ring it, either.
      world.requests()
      expect(await world.turn()).toEqual({ by: 'done' })
      expect(world.requests()).toEqual({ lists: 0, items: 0 })
      expect(await events.states()).toEqual(['waiting cut_short', 'waiting'])
      await world.sync({ resources: [list], beside: events.beside })
      expect(await events.states()).toEqual(['settled', 'settled'])
      expect(await world.row(id)).toMatchObject({ detail: 'in bulk' })
      clock.pass(minute)
      await world.put({ id })
      await world.turn()
      expect((await events.states()).at(-1)).toBe('settled')
    })
  })

  test('a fault in one cursor is its own: others are rung, and the faulty one is rung again later', async () => {
    world = await EventWorld.open(kind)
    const notices: [string, Record<string, unknown>][] = []
    const faulty = (source: Source): Source =>
      new Between(source, async ({ path }, ask) => {
        if (path === list) throw new TypeError('no function of the program throws this')
        return ask()
      })
    await world.put({ id: world.orders[0] ?? 0 })
    await world.events.put({ tenant: world.tenant, resource: 'customers', id: 1, type: 'Customer' })
    expect(await world.turn({ around: faulty, notices, toleratesBugs: true })).toEqual({ by: 'done' })
    expect(await world.events.states()).toEqual(['waiting walk_failed', 'settled'])
    expect(notices.map(([, fields]) => fields)).toEqual([
      { tenant_id: world.tenant, resource: list, error: expect.stringContaining('no function') },
    ])
    world.clock.pass(10_000)
    await world.turn()
    expect(await world.events.states()).toEqual(['settled', 'settled'])
  })

  test('a fault while events are settled fails no run: the list is read, and the events wait', async () => {
    world = await EventWorld.open(kind)
    const [id = 0, other = 0] = world.orders
    await deletionsOf([id])
    world.change(other)
    const around = (source: Source): Source =>
      new Proxy(source, {
        get: (its, name) => {
          if (name === 'tagged') return () => around(its.tagged())
          if (name === 'item') return () => Promise.reject(new TypeError('no function throws this'))
          const value = Reflect.get(its, name) as unknown
          return typeof value === 'function' ? value.bind(its) : value
        },
      })
    const notices: [string, Record<string, unknown>][] = []
    const { settling: beside } = world.events
    const report = await world.sync({ around, beside, notices, toleratesBugs: true })
    expect(report.status).toBe('ok')
    expect(notices.map(([, { error }]) => error)).toEqual(['no function throws this'])
    expect(await world.row(other)).toMatchObject({ detail: 'changed' })
    expect(await world.events.states()).toEqual(['waiting not_asked'])
    world.clock.pass(5000)
    await world.turn()
    expect(await world.events.states()).toEqual(['waiting exists'])
  })
})
