/** Laws 6 and 9 can fail: each mutant of the walk, the books or the guard is caught by the scenarios of the suite. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { type Mutant, Play, Tally } from '../support/motion.js'
import { type MotionScript, scripts } from '../support/motionscript.js'
import { MotionWorld } from '../support/motionworld.js'
import { mutants } from '../support/mutants.js'
import { open, warehouses } from '../support/warehouse.js'

describe.each(warehouses().slice(0, 1))('$name', (kind) => {
  const worlds = new Map<number, MotionWorld>()
  let warehouse: Warehouse
  beforeAll(async () => {
    for (const digits of [0, 3, 6] as const) worlds.set(digits, await MotionWorld.open(digits))
    warehouse = await open(kind)
  })
  afterAll(async () => {
    await warehouse.close()
    for (const world of worlds.values()) await world.sandbox.close()
  })

  it.each(mutants)('catches: $name', { timeout: 300_000 }, async (mutant) => {
    const play = (script: MotionScript, planted?: Mutant): Promise<void> => {
      const parts = { world: worlds.get(script.digits)!, warehouse, tally: new Tally() }
      return new Play({ ...parts, ...(planted && { mutant: planted }) }, script).run()
    }
    const some = mutant.scripts ?? scripts
    // Without the mutant they show nothing wrong: for scenarios of every kind the motion suite says so.
    if (mutant.scripts)
      await fc.assert(
        fc.asyncProperty(some, (script) => play(script)),
        { numRuns: 30, seed: 1 },
      )
    const found = await fc.check(
      fc.asyncProperty(some, (script) => play(script, mutant)),
      { numRuns: 500, seed: 20_260_101, endOnFailure: true },
    )
    expect(found.failed).toBe(true)
    expect(String(found.errorInstance)).toMatch(/Lost|Wrong|rolled back|Still not done/)
  })
})
