import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isWhole } from '../harness/size.js'
import { describeBothWays, warehouses } from '../harness/warehouse.js'
import { cases, Motion } from './laws/motion.js'
import { type Amount, holds, Shares, shiftOn } from './lawsuite.js'
import type { MotionScript } from './motionscript.js'

export interface MotionSuite {
  readonly seed: number
  readonly amount: Amount
  /** Postgres's share of it. */
  readonly onPostgres: number
  /** The share of lists that are long enough to be compared by counting, each of which takes as long as many others. */
  readonly compared: number
}

/** Laws 6 and 9 over random scenarios. */
export function motionSuite({ seed, amount, onPostgres, compared }: MotionSuite): void {
  const kinds = [
    ['while a list is read', cases.any, 1],
    ['while a list is compared', cases.comparisons, compared],
  ] as const
  const shares = new Shares(amount, (2 + onPostgres) * (1 + compared))
  describeBothWays((kind) => {
    let law: Motion
    beforeAll(async () => {
      law = await Motion.open([await kind.migrated()])
    })
    afterAll(async () => {
      await law.close()
      console.log(`motion on ${kind.name}: ${law.tally}`)
    })

    // Of those that take long, `npm test` plays one, and a pinned case.
    const played = isWhole() || warehouses().includes(kind) ? kinds : kinds.slice(0, 1)
    it.each(played)('holds %s', { timeout: 3_600_000 }, async (_, drawn, share) => {
      const { MOTION_SEED } = process.env
      await holds(law, drawn, {
        law: 'motion',
        seed: Number(MOTION_SEED ?? seed),
        shift: MOTION_SEED ? 0 : shiftOn(kind),
        amount: shares.take(kind.name === 'sqlite' ? share : share * onPostgres),
      })
      const { wrong, windows, scenarios } = law.tally
      expect(wrong).toEqual({ proven: 0, repaired: 0, listed: 0, unproven: 0 })
      // At least one in a hundred scenarios has a window of several pages; otherwise the suite would show nothing about
      // them.
      if (scenarios >= 200) expect(windows).toBeGreaterThan(scenarios / 100)
    })

    const replayed = process.env.MOTION_SCRIPT
    it.runIf(replayed !== undefined)('replay', async () => {
      for (const line of readFileSync(replayed ?? '', 'utf8').split('\n'))
        if (line.trim() !== '') await law.play(JSON.parse(line) as MotionScript)
    })
  })
}
