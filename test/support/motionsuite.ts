import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { Play, Tally } from './motion.js'
import { type MotionScript, scripts } from './motionscript.js'
import { MotionWorld } from './motionworld.js'
import { describeBothWays, type Kind, open } from './warehouse.js'

export interface Size {
  readonly seed: number
  readonly sqlite: number
  readonly postgres: number
  /** So many windows of several pages have to be read in a thousand scenarios, or the suite shows nothing of them. */
  readonly windowsInThousand: number
}

/** Laws 6 and 9 over so many scenarios. */
export function motionSuite(size: Size): void {
  const worlds = new Map<number, MotionWorld>()
  beforeAll(async () => {
    for (const digits of [0, 3, 6] as const) worlds.set(digits, await MotionWorld.open(digits))
  })
  afterAll(async () => {
    for (const world of worlds.values()) await world.sandbox.close()
  })
  describeBothWays((kind) => onWarehouse(kind, worlds, size))
}

function onWarehouse(kind: Kind, worlds: ReadonlyMap<number, MotionWorld>, size: Size): void {
  const tally = new Tally()
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind)
  })
  afterAll(async () => {
    await warehouse.close()
    console.log(`motion on ${kind.name}: ${tally}`)
  })
  const play = (script: MotionScript): Promise<void> =>
    new Play({ world: worlds.get(script.digits)!, warehouse, tally }, script).run()

  const scenarios = size[kind.name]
  // SQLite is played both ways: with scenarios of its own each, twice as much is seen.
  const seed = Number(process.env.MOTION_SEED ?? size.seed) + (kind.threadFrom === 0 ? 1 : 0)
  it(`holds for ${scenarios} scenarios`, { timeout: 3_600_000 }, async () => {
    await fc.assert(fc.asyncProperty(scripts, play), {
      numRuns: scenarios,
      seed,
      reporter: async (run) => {
        if (!run.failed) return
        throw new Error(
          `${String(run.errorInstance)}\nseed ${run.seed}, after ${run.numRuns} scenarios and ${run.numShrinks} shrinks:\n${JSON.stringify(run.counterexample?.[0])}`,
        )
      },
    })
    expect(tally.wrong).toEqual({ proven: 0, repaired: 0, listed: 0, unproven: 0 })
    expect(tally.windows).toBeGreaterThan((scenarios * size.windowsInThousand) / 1000)
  })

  const replayed = process.env.MOTION_SCRIPT
  it.runIf(replayed !== undefined)('replay', async () => {
    for (const line of readFileSync(replayed ?? '', 'utf8').split('\n'))
      if (line.trim() !== '') await play(JSON.parse(line) as MotionScript)
  })
}
