import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeBothWays } from '../harness/warehouse.js'
import { cases, Motion } from './laws/motion.js'
import { type Amount, holds, Shares, shiftOn } from './lawsuite.js'
import type { MotionScript } from './motionscript.js'

export interface MotionSuite {
  readonly seed: number
  readonly amount: Amount
  /** Postgres's share of it. */
  readonly onPostgres: number
}

/** Laws 6 and 9 over random scenarios. */
export function motionSuite({ seed, amount, onPostgres }: MotionSuite): void {
  const shares = new Shares(amount, 2 + onPostgres)
  describeBothWays((kind) => {
    let law: Motion
    beforeAll(async () => {
      law = await Motion.open([await kind.migrated()])
    })
    afterAll(async () => {
      await law.close()
      console.log(`motion on ${kind.name}: ${law.tally}`)
    })

    it('holds', { timeout: 3_600_000 }, async () => {
      const { MOTION_SEED } = process.env
      await holds(law, cases.any, {
        law: 'motion',
        ...(MOTION_SEED ? { seed: Number(MOTION_SEED), shift: 0 } : { seed, shift: shiftOn(kind) }),
        amount: shares.take(kind.name === 'sqlite' ? 1 : onPostgres),
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
