/** The listener between its turns: beside runs, jobs and shards that hold the warehouse, and when a turn fails. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { shardIndex } from '../../../src/engine/base/shard.js'
import type { RunReport } from '../../support/harness/runs.js'
import { until } from '../../support/harness/scheduler.js'
import { bothWarehouses, claimLease, type Lease, LeaseHeld, rowsOf } from '../../support/harness/warehouse.js'
import { between } from '../../support/world/between.js'
import { SkippingClock } from '../../support/world/clocks.js'
import { EventWorld, list } from '../../support/world/eventworld.js'
import { through } from '../../support/world/through.js'

let w: EventWorld
const isSettled = async (): Promise<boolean> => (await w.seen()) === 'settled'
const leaseOf = (runId: string, more: object = {}): Promise<Lease> =>
  claimLease(w.warehouse, { runId, command: 'sync', leaseMs: 60_000, ...more })

describe.each(bothWarehouses())('on $name', (kind) => {
  let id = 0
  beforeAll(async () => {
    w = await EventWorld.open(kind)
  })
  beforeEach(async () => {
    await w.begin()
    id = w.unused()
    w.change(id)
  })

  /** The same warehouse, whose transactions are begun by the function. */
  const watched = (begun: () => void) =>
    through(w.warehouse, {
      transaction: (work) => {
        begun()
        return w.warehouse.dialect.transaction(work)
      },
    })

  it("doesn't claim again for each event while a run holds the warehouse, and takes its turn afterwards", async () => {
    let claims = 0
    const run = await leaseOf('run')
    const warehouse = watched(() => {
      claims += 1
    })
    await w.events.listening(
      async (listener) => {
        await w.put({ id })
        for (let i = 0; i < 40; i++) {
          listener.received()
          await systemClock.sleep(10)
        }
        // One per second.
        expect(claims).toBeGreaterThan(0)
        expect(claims).toBeLessThan(10)
        await run.release()
        await until(isSettled)
      },
      { warehouse },
    )
    expect(await w.row(id)).toMatchObject({ detail: 'changed' })
  })

  it("a command that finds it at work doesn't exit with 4: it reports it, waits, and takes over", async () => {
    await w.put({ id })
    let run: Promise<RunReport> | undefined
    const turn = await w.turn({
      around: between(async ({ signal }, ask) => {
        run ??= w.sync({ beside: w.events.beside })
        // No response comes until the listener gives up.
        await new Promise((resolve) => signal?.addEventListener('abort', resolve))
        return ask()
      }),
    })
    expect(turn).toMatch(/^wanted, /)
    expect((await run)?.status).toBe('ok')
    expect(await w.seen()).toBe('settled')
    expect(await w.row(id)).toMatchObject({ detail: 'changed' })
  })

  it('takes no turn while a job is working, and one right after that', async () => {
    await w.events.listening(async (listener) => {
      const seen = await listener.aside(async () => {
        const run = await leaseOf('job')
        await w.put({ id })
        listener.received()
        await systemClock.sleep(100)
        const before = await w.seen()
        await run.release()
        await systemClock.sleep(100)
        return [before, await w.seen()]
      })
      expect(seen).toEqual(['waiting', 'waiting'])
      await until(isSettled)
    })
  })

  it('outlives a turn that ends with any error: it reports that, waits longer each time, and goes on', async () => {
    let faults = 2
    const warehouse = watched(() => {
      if (faults-- > 0) throw new TypeError('no function of the program throws this')
    })
    const clock = new SkippingClock()
    const [survived, fails]: [unknown[], boolean[]] = [[], []]
    const tells = {
      survived: (error: unknown) => void survived.push(error),
      fails: (isFailing: boolean) => void fails.push(isFailing),
    }
    await w.put({ id })
    await w.events.listening(
      async (listener) => {
        // A job may end the turn, or find that it has failed.
        await listener.aside(async () => {})
        await until(isSettled)
        await until(() => fails.at(-1) === false)
      },
      { warehouse, clock, ...tells },
    )
    expect(await w.row(id)).toMatchObject({ detail: 'changed' })
    expect(fails).toEqual([true, true, false])
    expect(survived).toEqual([expect.any(TypeError), expect.any(TypeError)])
    const waits = clock.slept.map((ms) => Math.round(ms / 1000)).filter((seconds) => seconds >= 10)
    expect(waits).toEqual([10, 20])
  })
})

/** It rings the tenants of shards that nobody works on, and those at work ring their own. */
describe('beside shards, on postgres', () => {
  const held: Lease[] = []
  let [first, second] = [0, 0]
  beforeAll(async () => {
    w = await EventWorld.open(bothWarehouses().find(({ name }) => name === 'postgres')!)
    ;[first = 0, second = 0] = w.sandbox.tenantIds
  })
  beforeEach(() => w.begin())
  afterEach(async () => {
    for (const lease of held.splice(0)) await lease.release()
  })

  /** The two tenants are in different shards of this many. */
  const of = 64
  const shardOf = (tenant: number) => ({ index: shardIndex(tenant, of), of })
  const nameOf = (tenant: number): string => `${shardIndex(tenant, of)}/${of}`
  const work = async (tenant: number) => held.push(await leaseOf(`${tenant}`, { shard: shardOf(tenant) }))
  const put = async (tenant: number): Promise<void> => {
    const [id = 0] = w.sandbox.store.ids(tenant, list)
    w.sandbox.store.change(tenant, list, id, { detail: 'changed' })
    await w.put({ tenant, id })
  }
  const holders = async () =>
    (await rowsOf(w.warehouse, 'sync_lease')).flatMap(({ owner, name }) => (owner === null ? [] : [name]))

  it('a turn rings the other tenants, under the names of their shards', async () => {
    await work(first)
    await put(second)
    const names: unknown[] = []
    const off = w.sandbox.onRequest(async () => void names.push(...(await holders())))
    expect(await w.turn()).toBe('1 list: settled')
    off()
    expect(new Set(names)).toEqual(new Set([nameOf(first), nameOf(second)]))
    expect(await holders()).toEqual([nameOf(first)])
  })

  it('what is due in a shard at work waits for it, and the run of the shard rings it beside its plan', async () => {
    await work(first)
    await put(first)
    await expect(w.turn()).rejects.toBeInstanceOf(LeaseHeld)
    await put(second)
    expect(await w.turn()).toBe('wanted, 1 list: waiting, settled')
    await put(second)
    await held.pop()?.release()
    let isReleased = false
    const off = w.sandbox.onRequest(async ({ tenant, resource }) => {
      // The planned work lasts until the ring has settled what is due.
      if (resource !== 'customers' || tenant !== first || isReleased) return
      isReleased = true
      await expect.poll(() => w.seen(), { timeout: 10_000 }).toContain('settled')
    })
    const { beside } = w.events
    await w.sync({ beside, shard: shardOf(first), tenants: [first], resources: ['customers'] })
    off()
    expect(await w.events.states()).toEqual(['settled', 'settled', 'waiting'])
    expect(await w.turn()).toBe('1 list: 3 settled')
  })
})
