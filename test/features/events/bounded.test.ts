/** What rings may use: the time between two of the same cursor, requests, the lease; and what a failing cursor may. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Source } from '../../support/harness/runs.js'
import { until } from '../../support/harness/scheduler.js'
import {
  addLateness,
  claimLease,
  type LatenessWay,
  reopen,
  rowsOf,
  wantLease,
  warehouses,
} from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { EventWorld, list, minute, resources } from '../../support/world/eventworld.js'

describe.each(warehouses())('on $name', (kind) => {
  let world: EventWorld
  beforeEach(async () => {
    world = await EventWorld.open(kind)
  })
  afterEach(() => world.close())

  const floorsAsked = (): string[] =>
    world.sandbox.requests
      .filter(({ path }) => path.endsWith(list))
      .map(({ updated_after }) => updated_after ?? '')

  it('several events of a cursor cause one ring, and the next one waits until the first has settled', async () => {
    const [id = 0] = world.orders
    world.events.settings = { ...world.events.settings, settle: 2000 }
    for (let i = 0; i < 50; i++) await world.put({ id })
    await world.turn()
    expect(world.requests().lists).toBe(1)
    await world.put({ id })
    world.clock.pass(900)
    expect(await world.turn()).toEqual({ by: 'done' })
    expect(world.requests().lists).toBe(0)
    world.clock.pass(1200)
    await world.turn()
    expect(world.requests().lists).toBe(1)
  })

  it('goes back by the whole overlap, or by less if it is known how late records come', async () => {
    const [id = 0] = world.orders
    const overlapMs = 20 * minute
    const watermark = Date.parse(String((await world.cursor())?.watermark))
    const back = async (run: () => Promise<unknown>): Promise<number> => {
      await world.put({ id })
      world.sandbox.resetRequests()
      await run()
      return Math.floor((watermark - Date.parse(floorsAsked()[0] ?? '')) / 1000)
    }
    const turn = () => world.turn({ overlapMs })
    expect(await back(turn)).toBe(20 * 60)
    const late = async (records: number, largestMicros: number, way: LatenessWay = 'walk'): Promise<void> => {
      const day = { resource: list, day: world.now.slice(0, 10), way }
      const buckets = [{ upToMs: 2 ** 15, records, largestMicros }]
      await world.warehouse.write(addLateness(world.warehouse.db, day, buckets))
    }
    await late(999, 1_000_000)
    expect(await back(turn)).toBe(20 * 60)
    await late(1, 1_000_000)
    expect(await back(turn)).toBe(30)
    await late(1, 60_000_000)
    expect(await back(turn)).toBe(120)
    await late(1, 240_000_000, 'reconcile')
    expect(await back(turn)).toBe(480)
    // A planned walk still goes back by the whole overlap.
    const planned = () => world.sync({ overlapMs, resources: [list], tenants: [world.tenant] })
    expect(await back(planned)).toBe(20 * 60)
  })

  it("keeps no progress: after an interruption it starts over, and the watermark doesn't move", async () => {
    for (const id of world.orders) world.change(id, { detail: 'anew' })
    const [id = 0] = world.orders
    await world.put({ id })
    const before = await world.cursor()
    const stop = new AbortController()
    let n = 0
    const around = (source: Source) =>
      new Between(source, async (_, ask) => {
        const page = await ask()
        if (++n === 2) stop.abort()
        return page
      })
    await world.turn({ signal: stop.signal, around, pageSizes: [3, 4, 5], readAhead: 0 })
    expect(await world.events.states()).toEqual(['waiting cut_short'])
    expect(await world.cursor()).toMatchObject({ walk: null, watermark: before?.watermark })
    await world.turn()
    expect(await world.events.states()).toEqual(['settled'])
    expect(await world.cursor()).toMatchObject({ walk: null, completeness: 'proven' })
  })

  it('leaves the progress of a planned walk as it is', async () => {
    for (const id of world.orders) world.change(id, { detail: 'anew' })
    const stop = new AbortController()
    let n = 0
    const around = (source: Source) =>
      new Between(source, async (_, ask) => {
        const page = await ask()
        if (++n === 2) stop.abort()
        return page
      })
    const full = { mode: 'full' as const, resources: [list], tenants: [world.tenant], pageSizes: [3, 4, 5] }
    await world.sync({ ...full, readAhead: 0, signal: stop.signal, around })
    const cut = await world.cursor()
    expect(cut?.walk).not.toBeNull()
    const [id = 0] = world.orders
    await world.put({ id })
    await world.turn()
    expect(await world.events.states()).toEqual(['settled'])
    const after = await world.cursor()
    expect(after?.walk).toEqual(cut?.walk)
    expect(String(after?.watermark) > String(cut?.watermark)).toBe(true)
  })

  it('a host whose clock is an hour ahead makes no event wait for an hour', async () => {
    const [id = 0] = world.orders
    await world.put({ id, version: world.later(world.now, 1) })
    await world.turn()
    expect(await world.events.states()).toEqual(['waiting not_listed'])
    const { inbox } = world.events
    const due_at = world.later(world.now, 60 * minute)
    await inbox.write([inbox.db.updateTable('sync_events').set({ due_at }).compile()])
    world.clock.pass(1000)
    world.change(id)
    await world.turn()
    expect(await world.events.states()).toEqual(['settled'])
  })

  it('does no first load', async () => {
    await world.events.put({ tenant: world.tenant, resource: 'notes', id: 1 })
    await world.turn()
    expect(world.requests()).toEqual({ lists: 0, items: 0 })
    expect(await world.events.states()).toEqual(['waiting not_loaded'])
    await world.sync({ resources: ['notes'], beside: world.events.beside })
    expect(await world.events.states()).toEqual(['settled'])
  })

  it('a failing cursor is rung after 10 s, 1 min and 5 min, then left to the next run; others continue', async () => {
    const [id = 0] = world.orders
    world.sandbox.script([{ when: { resource: list }, fault: { kind: 'status', status: 403 } }])
    const notices: [string, Record<string, unknown>][] = []
    const ring = async (): Promise<boolean> => {
      // What comes meanwhile doesn't ring it early.
      await world.put({ id })
      await world.events.put({ tenant: world.tenant, resource: 'customers', id: 1, type: 'Customer' })
      world.sandbox.resetRequests()
      await world.turn({ notices })
      expect(world.sandbox.requests.filter(({ path }) => path.endsWith('customers')).length).toBe(1)
      return world.sandbox.requests.some(({ path }) => path.endsWith(list))
    }
    expect(await ring()).toBe(true)
    for (const pause of [10_000, minute, 5 * minute]) {
      world.clock.pass(pause - 2000)
      expect(await ring()).toBe(false)
      world.clock.pass(3000)
      expect(await ring()).toBe(true)
    }
    const told = notices.filter(([message]) => message.includes('left for the next run'))
    expect(told.map(([, fields]) => fields)).toEqual([{ tenant_id: world.tenant, resource: list }])
    const rows = (await world.events.rows()).filter(
      ({ state, resource }) => state === 'waiting' && resource === list,
    )
    expect(new Set(rows.map(({ reason, due_at }) => `${reason} ${due_at}`))).toEqual(
      new Set(['walk_failed null']),
    )
    world.clock.pass(60 * minute)
    world.sandbox.resetRequests()
    await world.turn()
    expect(world.requests()).toEqual({ lists: 0, items: 0 })
    world.sandbox.script([])
    await world.sync({ beside: world.events.beside })
    expect((await world.events.states()).filter((state) => state !== 'settled')).toEqual([])
    // It is rung at once again.
    await world.put({ id })
    await world.turn()
    expect((await world.events.states()).at(-1)).toBe('settled')
  })

  /** A source whose rate limit is 20 requests a window. */
  const around = (source: Source): Source =>
    new Proxy(source, {
      get: (its, name) => {
        const window = { limit: 20, remaining: 10, resetsAt: Number(world.clock.micros / 1000n) + 60_000 }
        if (name === 'stats') return () => ({ ...its.stats(), window })
        if (name === 'tagged') return () => around(its.tagged())
        const value = Reflect.get(its, name) as unknown
        return typeof value === 'function' ? value.bind(its) : value
      },
    })

  it('leaves half of a window to planned work that waits, and uses all of it otherwise', async () => {
    const [id = 0] = world.orders
    world.events.settings = { settle: 0, requestShare: 0.1 }
    // A slow planned list: rings may send two requests meanwhile.
    let rings = 0
    await world.sync({
      mode: 'full',
      resources: ['customers'],
      tenants: [world.tenant],
      beside: world.events.beside,
      around: (source) =>
        new Between(around(source), async ({ path }, ask) => {
          if (path === list) rings += 1
          else if (rings < 2)
            for (let wanted = 1; wanted <= 2; wanted++) {
              await world.put({ id })
              await until(() => rings >= wanted)
            }
          else {
            // Checks come and go: none of them may ring a third time.
            await world.put({ id })
            await new Promise((resolve) => setTimeout(resolve, 200))
          }
          return ask()
        }),
    })
    expect(rings).toBe(2)
    for (let i = 0; i < 4; i++) {
      await world.put({ id })
      await world.turn({ around })
    }
    expect((await world.events.states()).filter((state) => state !== 'settled')).toEqual([])
  })

  it('counts what a ring has sent so far: none starts when its pages have used up the share', async () => {
    for (const id of world.orders) world.change(id, { detail: 'in bulk' })
    world.events.settings = { settle: 0, requestShare: 0.1 }
    const { tenant } = world
    let [pages, others] = [0, 0]
    await world.put({ id: world.orders[0] ?? 0 })
    await world.sync({
      ...{ mode: 'full', resources: ['customers'], tenants: [tenant], pageSizes: [3, 4, 5], readAhead: 0 },
      beside: world.events.beside,
      around: (source) =>
        new Between(around(source), async ({ path }, ask) => {
          if (path === 'payments') others += 1
          else if (path === 'customers') await until(() => pages > 3)
          else if (++pages === 3) {
            await world.events.put({ tenant, resource: 'payments', id: 1 })
            // Checks come and go.
            await new Promise((resolve) => setTimeout(resolve, 200))
            expect(others).toBe(0)
          }
          return ask()
        }),
    })
    expect(pages).toBeGreaterThan(3)
    await world.turn()
    expect((await world.events.states()).filter((state) => state !== 'settled')).toEqual([])
  })

  it('with targets, spreads its share over the window, and first reads what waits for longest in targets', async () => {
    const [id = 0] = world.orders
    const { tenant } = world
    const targetOf = (resource: string): number => (resource === 'customers' ? minute : 60 * minute)
    world.events.settings = { settle: 0, requestShare: 0.1, targetOf }
    for (let i = 0; i < 3; i++) await world.put({ id })
    world.clock.pass(10)
    await world.events.put({ tenant, resource: 'customers', id: 1, type: 'Customer' })
    world.clock.pass(10)
    const read = (): string[] => world.sandbox.requests.map(({ path }) => path.split('/').at(-1) ?? '')
    const turn = () => world.turn({ around })
    expect(await turn()).toMatchObject({ by: 'window' })
    expect(read()).toEqual(['customers'])
    // A tenth of the ten requests that are left, over the minute that is left.
    world.clock.pass(0.9 * minute)
    expect(await turn()).toMatchObject({ by: 'window', until: expect.any(Number) })
    expect(read()).toEqual(['customers'])
    world.clock.pass(0.11 * minute)
    expect(await turn()).toEqual({ by: 'done' })
    expect(read()).toEqual(['customers', 'repair_orders'])
    await world.put({ id })
    expect(await turn()).toMatchObject({ by: 'window' })
    expect((await world.events.states()).filter((state) => state === 'waiting')).toHaveLength(1)
    // A planned walk settles them, as one of a due round does.
    await world.sync({ beside: world.events.beside })
    expect((await world.events.states()).filter((state) => state !== 'settled')).toEqual([])
  })

  it('a turn ends with the window; the next one starts when it resets', async () => {
    world.sandbox.script([{ when: { nth: 1 }, before: { kind: 'consume', requests: 0 } }])
    const rate = { limit: 3, remaining: 0, reset: Math.ceil(Number(world.clock.micros) / 1e6) + 40 }
    world.sandbox.script([{ when: { kind: 'list' }, fault: { kind: 'rate', ...rate } }])
    for (const tenant of world.sandbox.tenantIds)
      for (const resource of resources) await world.events.put({ tenant, resource, id: 1, type: 'None' })
    const end = await world.turn()
    expect(end).toMatchObject({ by: 'window' })
    const left = (await world.events.states()).filter((state) => state === 'waiting')
    expect(left.length).toBeGreaterThan(0)
    world.sandbox.script([])
    world.clock.pass(60_000)
    await world.turn()
    expect((await world.events.states()).filter((state) => state !== 'settled')).toEqual([])
  })

  it('gives the lease back as soon as someone wants it', async () => {
    const [id = 0] = world.orders
    await world.put({ id })
    const end = await world.turn({
      around: (source) =>
        new Between(source, async (_, ask) => {
          await wantLease(world.warehouse)
          // The response never comes: the request in flight is ended.
          await new Promise((resolve) => setTimeout(resolve, 50))
          return ask()
        }),
    })
    expect(end).toEqual({ by: 'wanted' })
    await world.sync({ beside: world.events.beside })
    expect(await world.events.states()).toEqual(['settled'])
  })

  it('a listener that was stopped for longer than its lease writes nothing when it wakes', async () => {
    const [id = 0] = world.orders
    world.change(id)
    await world.put({ id })
    const { db } = world.warehouse
    const expired = db.updateTable('sync_lease').set({ expires_at: '2020-01-01T00:00:00.000000Z' })
    let isStopped = true
    const turn = world.turn({
      around: (source) =>
        new Between(source, async (_, ask) => {
          const page = await ask()
          // Its lease expires while it is stopped, and a command has taken over.
          await world.warehouse.write([expired.compile()])
          const other = await reopen(world.address)
          await claimLease(other, { runId: 'other', command: 'forget', leaseMs: 60_000 })
          await other.close()
          isStopped = false
          return page
        }),
    })
    await expect(turn).rejects.toMatchObject({ exitCode: 4 })
    expect(isStopped).toBe(false)
    expect(await world.row(id)).not.toMatchObject({ detail: 'changed' })
    expect(await world.events.states()).toEqual(['waiting'])
    expect((await rowsOf(world.warehouse, 'sync_runs')).filter(({ mode }) => mode === 'events')).toEqual([])
  })

  it("is recorded in one row per hour, and isn't a run that anyone waits for", async () => {
    const [id = 0] = world.orders
    await world.put({ id })
    await world.turn()
    world.clock.pass(60 * minute)
    await world.put({ id })
    await world.turn()
    const runs = (await rowsOf(world.warehouse, 'sync_runs')).filter(({ mode }) => mode === 'events')
    expect(runs.map(({ status, requests, job }) => [status, Number(requests), job])).toEqual([
      ['ok', 1, null],
      ['ok', 1, null],
    ])
  })
})
