/** The listener between its turns: what it does with events that come faster than it may claim the warehouse. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Listener } from '../../../src/features/events/listener.js'
import { depsOf, type RunReport } from '../../support/harness/runs.js'
import { until } from '../../support/harness/scheduler.js'
import { bothWarehouses, claimLease } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { SkippingClock } from '../../support/world/clocks.js'
import { ringSettings } from '../../support/world/events.js'
import { EventWorld } from '../../support/world/eventworld.js'
import { through } from '../../support/world/through.js'

describe.each(bothWarehouses())('on $name', (kind) => {
  let world: EventWorld
  beforeEach(async () => {
    world = await EventWorld.open(kind)
  })
  afterEach(() => world.close())

  it("doesn't claim again for each event while a run holds the warehouse, and takes its turn afterwards", async () => {
    let claims = 0
    const watched = through(world.warehouse, {
      transaction: (work) => {
        claims += 1
        return world.warehouse.dialect.transaction(work)
      },
    })
    const { deps, close } = await depsOf(world.sandbox, watched)
    const { inbox } = world.events
    const listener = new Listener({ deps, inbox, settings: { settle: 0, requestShare: 0.5 } })
    const run = await claimLease(world.warehouse, { runId: 'run', command: 'sync', leaseMs: 60_000 })
    const end = new AbortController()
    const listening = listener.run(end.signal)
    const [id = 0] = world.orders
    world.change(id)
    await world.put({ id })
    for (let i = 0; i < 150; i++) {
      listener.received()
      await systemClock.sleep(10)
    }
    // One per second.
    expect(claims).toBeGreaterThan(0)
    expect(claims).toBeLessThan(10)
    await run.release()
    await until(async () => (await world.events.states()).every((state) => state === 'settled'))
    expect(await world.row(id)).toMatchObject({ detail: 'changed' })
    end.abort()
    await listening
    await close()
  })

  it("a command that finds it at work doesn't exit with 4: it reports it, waits, and takes over", async () => {
    const [id = 0] = world.orders
    world.change(id)
    await world.put({ id })
    let run: Promise<RunReport> | undefined
    const end = await world.turn({
      around: (source) =>
        new Between(source, async ({ signal }, ask) => {
          run ??= world.sync({ beside: world.events.beside })
          // No response comes until the listener gives up.
          await new Promise((resolve) => signal?.addEventListener('abort', resolve))
          return ask()
        }),
    })
    expect(end).toEqual({ by: 'wanted' })
    expect((await run)?.status).toBe('ok')
    expect(await world.events.states()).toEqual(['settled'])
    expect(await world.row(id)).toMatchObject({ detail: 'changed' })
  })

  it('takes no turn while a job is working, and one right after that', async () => {
    const { deps, close } = await depsOf(world.sandbox, world.warehouse)
    const settings = { settle: 0, requestShare: 0.5 }
    const listener = new Listener({ deps, inbox: world.events.inbox, settings })
    const end = new AbortController()
    const listening = listener.run(end.signal)
    const [id = 0] = world.orders
    const states = await listener.aside(async () => {
      const run = await claimLease(world.warehouse, { runId: 'job', command: 'hourly', leaseMs: 60_000 })
      await world.put({ id })
      listener.received()
      await systemClock.sleep(100)
      const before = await world.events.states()
      await run.release()
      await systemClock.sleep(100)
      return [...before, ...(await world.events.states())]
    })
    expect(states).toEqual(['waiting', 'waiting'])
    await until(async () => (await world.events.states()).every((state) => state === 'settled'))
    end.abort()
    await listening
    await close()
  })

  it('outlives a turn that ends with any error: it reports that, waits longer each time, and goes on', async () => {
    let faults = 2
    const faulty = through(world.warehouse, {
      transaction: (work) => {
        if (faults-- > 0) throw new TypeError('no function of the program throws this')
        return world.warehouse.dialect.transaction(work)
      },
    })
    const clock = new SkippingClock()
    const { deps, close } = await depsOf(world.sandbox, faulty, { clock })
    const lines: object[] = []
    deps.observer.survived = (error) => void lines.push(Object(error))
    const listener = new Listener({ deps, inbox: world.events.inbox, settings: ringSettings })
    const end = new AbortController()
    const told: boolean[] = []
    const listening = listener.run(end.signal, (isFailing) => void told.push(isFailing))
    const [id = 0] = world.orders
    world.change(id)
    await world.put({ id })
    // A job may end the turn, or find that it has failed.
    await listener.aside(async () => {})
    await until(async () => (await world.events.states()).every((state) => state === 'settled'))
    expect(await world.row(id)).toMatchObject({ detail: 'changed' })
    await until(() => told.at(-1) === false)
    expect(told).toEqual([true, true, false])
    expect(lines).toEqual([expect.any(TypeError), expect.any(TypeError)])
    const waits = clock.slept.map((ms) => Math.round(ms / 1000)).filter((seconds) => seconds >= 10)
    expect(waits).toEqual([10, 20])
    end.abort()
    await listening
    await close()
  })
})
