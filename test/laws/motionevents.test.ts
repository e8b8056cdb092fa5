/**
 * Law 6 (motion) and law 9 (no wrong `proven`) with events from the source. The scenarios are those of motion.test.ts;
 * before each run there are events in the inbox, genuine and forged. With rings alongside the runs and after them, and with
 * deletions that are looked up, everything that is claimed is true. That events which are only read change no verdict is in
 * features/events/changesnothing.test.ts.
 * `npm run test:long` plays many more scenarios: MOTION_SEED=… plays others, MOTION_TIMES=4 four times as many.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import type { Sandbox } from '../../src/sandbox/index.js'
import { sized } from '../support/harness/size.js'
import { addLateness, bothWarehouses, type Warehouse, warehouses } from '../support/harness/warehouse.js'
import { EventBench, type TestEvent } from '../support/world/events.js'
import { cases, Motion } from '../support/world/laws/motion.js'
import type { MotionScript, Step } from '../support/world/motionscript.js'
import { type MotionWorld, moving, quiet, resource } from '../support/world/motionworld.js'
import { randomFrom } from '../support/world/random.js'

const { MOTION_SEED = sized(20_260_303, 20_260_404), MOTION_TIMES = '1' } = process.env
const seed = Number(MOTION_SEED)
const scenarios = sized(1, 150) * Number(MOTION_TIMES)

/**
 * Some events of either tenant: about existing records, in their versions or others, and about records that never
 * existed.
 */
function someEvents(world: MotionWorld, random: () => number): TestEvent[] {
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)]
  const standing = [...world.standing()]
  return Array.from({ length: Math.floor(random() * 8) }, () => {
    const [id, { micros }] = pick(standing) ?? [777, { micros: world.clock.micros }]
    const versions = [null, fromMicros(micros), fromMicros(micros + 1n), fromMicros(world.clock.micros)]
    const action = random() < 0.3 ? ('deleted' as const) : ('updated' as const)
    const tenant = random() < 0.9 ? moving : quiet
    const version = pick(versions) ?? null
    return { tenant, resource, type: 'Note', id: random() < 0.9 ? id : 777_777, action, version }
  })
}

/** It is known that records come in time: rings go back by half a minute. */
async function isInTime(warehouse: Warehouse, world: MotionWorld): Promise<void> {
  const day = { resource, day: fromMicros(world.clock.micros).slice(0, 10), way: 'walk' } as const
  const buckets = [{ upToMs: 0, records: 1000, largestMicros: 0 }]
  await warehouse.write(addLateness(warehouse.db, day, buckets))
}

/**
 * Time passes, a record is created, and one may become visible late by up to the overlap: usually later than rings go
 * back. `pauseMs`: the longest pause.
 */
function stir(world: MotionWorld, random: () => number, overlapMs: number, pauseMs: number): void {
  const steps: Step[] = [
    { at: 0, kind: 'pause', ms: Math.floor(random() * pauseMs) },
    { at: 0, kind: 'create', n: 1 },
  ]
  const lagMs = Math.floor(overlapMs * random() ** 0.2)
  if (random() < 0.6) steps.push({ at: 0, kind: 'late', n: 1, lagMs })
  world.prepare(steps)
}

describe.each(bothWarehouses())('on $name', (kind) => {
  let law: Motion
  /** A bench for each source: worlds of different precision share a warehouse. */
  const benches = new Map<Sandbox, EventBench>()
  const benchOf = async (world: MotionWorld, warehouse: Warehouse): Promise<EventBench> => {
    const { sandbox, clock } = world
    const bench = benches.get(sandbox) ?? (await EventBench.open(sandbox, warehouse, clock.still))
    benches.set(sandbox, bench)
    return bench
  }
  beforeEach(() => benches.clear())
  /** Events that rings have settled, and the deletions among them. */
  const tally = { rung: 0, deleted: 0 }
  /** Counts what a scenario has left in the inbox, and empties it. */
  async function told(bench: EventBench): Promise<void> {
    for (const { run_id, state } of await bench.rows()) {
      if (run_id?.startsWith('events-')) tally.rung += 1
      if (state === 'deleted') tally.deleted += 1
    }
    await bench.empty()
  }
  beforeAll(async () => {
    law = await Motion.open([await kind.migrated()])
  })
  afterAll(async () => {
    await law.close()
    console.log(`motion with events: ${JSON.stringify({ ...tally, ...Object.fromEntries(law.tally) })}`)
  })

  const sampled = (more: number, numRuns = scenarios) => fc.sample(cases.any, { seed: seed + more, numRuns })
  /** A failure names its script. */
  const play = (script: MotionScript, hears: Parameters<Motion['play']>[1]): Promise<void> =>
    law.play(script, hears).catch((cause: unknown) => {
      throw new Error(JSON.stringify(script), { cause })
    })
  const long = { timeout: 3_600_000 }

  it('what comes late between rings is fetched by the next planned walk', long, async () => {
    // One of the first five reveals that rings move what planned walks begin at (promises/events.ts).
    const least = warehouses().includes(kind) ? 5 : scenarios
    for (const [n, drawn] of sampled(2, Math.max(scenarios, least)).entries()) {
      const random = randomFrom(seed + n)
      // Lates of a longer overlap would be later than a shorter one allows.
      const script = { ...drawn, overlapMs: drawn.overlapMs === 300_000 ? 300_000 : 60_000 }
      const { overlapMs, pageSizes, readAhead } = script
      // A list that has no events is rung by those of another one.
      const type = n % 2 === 0 ? 'Note' : 'RepairOrder'
      let runs = 0
      await play(script, (world, warehouse) => ({
        before: async () => {
          await isInTime(warehouse, world)
          const bench = await benchOf(world, warehouse)
          if (runs++ === 0) await bench.empty()
          return bench.settling
        },
        after: async () => {
          const bench = await benchOf(world, warehouse)
          // After the script's runs, the source doesn't change.
          for (let rings = 0; rings < 8 && runs <= script.runs.length; rings++) {
            // The last one moves the watermark past everything that the others have missed.
            stir(world, random, overlapMs, rings < 7 ? 15_000 : 4 * overlapMs)
            // The event of what came late, and at times every event, is lost.
            if (random() < 0.8) await bench.put({ tenant: moving, resource, type, id: 1 })
            await bench.turn({ overlapMs, pageSizes, readAhead })
          }
        },
      }))
    }
  })

  it('rings during the runs claim nothing wrong', long, async () => {
    for (const [n, script] of sampled(1).entries()) {
      const random = randomFrom(seed + n)
      const { overlapMs, pageSizes, readAhead } = script
      let isFirst = true
      await play(script, (world, warehouse) => ({
        before: async () => {
          const bench = await benchOf(world, warehouse)
          if (isFirst) await told(bench)
          isFirst = false
          await bench.putAll(someEvents(world, random))
          return bench.beside
        },
        after: async () => {
          const bench = await benchOf(world, warehouse)
          await bench.putAll(someEvents(world, random))
          await bench.turn({ overlapMs, pageSizes, readAhead })
        },
      }))
    }
    expect(tally.rung).toBeGreaterThan(0)
  })
})
