/**
 * An event is only settled by a walk that started after it was received: one that arrives while the walk is reading may
 * concern a change that the walk missed.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ListRequest, type Source, syncInOrder } from '../../support/harness/runs.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { EventWorld, list } from '../../support/world/eventworld.js'

/** Does something when the nth response of the orders list has come, before the walk has seen it. */
const during =
  (work: () => Promise<void> | void, nth = 1) =>
  (source: Source): Source => {
    let n = 0
    return new Between(source, async ({ path }: ListRequest, ask) => {
      const page = await ask()
      if (path === list && ++n === nth) await work()
      return page
    })
  }

describe.each(warehouses())('on $name', (kind) => {
  let world: EventWorld
  beforeEach(async () => {
    world = await EventWorld.open(kind)
  })
  afterEach(() => world.close())

  const run = (options: object) => world.sync({ beside: world.events.settling, ...options })

  it('one that arrives while the walk is reading waits for the next walk', async () => {
    const [id = 0, other = 0] = world.orders
    world.change(id)
    await world.put({ id })
    await run({
      resources: [list],
      around: during(async () => {
        world.change(other, { detail: 'behind its back' })
        await world.put({ id: other })
      }),
    })
    expect(await world.events.states()).toEqual(['settled', 'waiting'])
    await world.turn()
    expect(await world.events.states()).toEqual(['settled', 'settled'])
    expect(await world.row(other)).toMatchObject({ detail: 'behind its back' })
  })

  it('whichever walk sees it settles it, even if nothing new came', async () => {
    for (const mode of ['sync', 'full', 'reconcile'] as const) {
      await world.put({ id: world.orders[0] ?? 0 })
      await run({ mode, resources: [list] })
    }
    expect(await world.events.states()).toEqual(['settled', 'settled', 'settled'])
  })

  it('a backfill settles none', async () => {
    await world.put({ id: world.orders[0] ?? 0 })
    const ranges = [{ from: '2020-01-01T00:00:00.000000Z', to: world.now }]
    expect((await run({ mode: 'backfill', ranges, resources: [list] })).status).toBe('ok')
    expect(await world.events.states()).toEqual(['waiting'])
  })

  it('a resumed walk settles none: the one after it does', async () => {
    for (const id of world.orders) world.change(id, { detail: 'anew' })
    const stop = new AbortController()
    const small = { resources: [list], tenants: [world.tenant], pageSizes: [3, 4, 5], readAhead: 0 }
    await syncInOrder(world.sandbox, world.warehouse, {
      ...{ clock: world.clock.still, ...small, signal: stop.signal },
      around: during(() => stop.abort(), 2),
    })
    expect((await world.cursor())?.walk).not.toBeNull()
    const [id = 0] = world.orders
    await world.put({ id })
    const states: string[][] = []
    // The resumed walk is interrupted again, then completes.
    const again = new AbortController()
    await run({ ...small, signal: again.signal, around: during(() => again.abort(), 2) })
    states.push(await world.events.states())
    let isBehind = false
    await run({
      ...small,
      around: (source: Source) =>
        new Between(source, async ({ page, updatedAfter }, ask) => {
          // The watermark moves at the end of the resumed walk; then the walk after it starts.
          isBehind ||= page === 1 && updatedAfter > world.later(world.now, -3_600_000)
          if (isBehind && states.length === 1) states.push(await world.events.states())
          return ask()
        }),
    })
    states.push(await world.events.states())
    expect(states).toEqual([['waiting'], ['waiting'], ['settled']])
  })

  it('if a hole stays, the walk settles what it has seen', async () => {
    const [id = 0, other = 0] = world.orders
    world.change(other, { detail: 'hidden by a hole' })
    world.sandbox.script([
      { when: { nth: 1 }, before: { kind: 'poison', tenant: world.tenant, resource: list, ids: [other] } },
    ])
    world.change(id)
    await world.put({ id, version: world.version(id) })
    await run({ resources: [list], tenants: [world.tenant] })
    expect(await world.cursor()).toMatchObject({ completeness: 'unproven', reason: 'unreadable' })
    expect(await world.events.states()).toEqual(['settled'])
    expect(await world.row(id)).toMatchObject({ detail: 'changed' })
    // Its cursor is rung like any other, and starts after the second of the hole.
    world.clock.pass(2000)
    await world.put({ id, version: world.change(id, { detail: 'again' }) })
    await world.turn()
    await world.put({ id, version: world.change(id, { detail: 'and again' }) })
    await world.turn()
    expect(await world.events.states()).toEqual(['settled', 'settled', 'settled'])
    expect(await world.row(id)).toMatchObject({ detail: 'and again' })
  })

  it('a walk whose books stay open settles none', async () => {
    const [id = 0] = world.orders
    world.change(id)
    await world.put({ id })
    world.sandbox.script([{ when: { resource: list, kind: 'list' }, fault: { kind: 'total', by: 3 } }])
    const report = await run({ resources: [list], tenants: [world.tenant] })
    expect(report.cursors).toMatchObject([{ completeness: 'unproven' }])
    const moves = report.cursors[0]?.reason === 'counted_not_shown'
    expect(await world.events.states()).toEqual([moves ? 'settled' : 'waiting'])
    world.sandbox.script([{ when: { resource: list }, fault: { kind: 'status', status: 403 } }])
    await world.put({ id })
    await run({ resources: [list], tenants: [world.tenant] })
    expect((await world.events.states()).at(-1)).toBe('waiting')
  })
})
