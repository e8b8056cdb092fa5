/** Law 3 (crash), to be called by a test file: laws/crash.ts has the runs and the comparison. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeBothWays } from '../harness/warehouse.js'
import { CrashLaw } from './laws/crash.js'

interface CrashSuite {
  /** Every moment; otherwise each twelfth one on each warehouse and for each way, so that together they have half of them. */
  readonly isWhole: boolean
}

const ways = [
  ['after a crash and another run', 'crash'],
  ['when the connection is lost', 'lost'],
] as const

export function crashSuite({ isWhole }: CrashSuite): void {
  let share = 0
  describeBothWays((kind) => {
    let law: CrashLaw
    beforeAll(async () => {
      law = await CrashLaw.open([await kind.migrated()])
    })
    afterAll(() => law.close())

    it.each(ways)('is the same %s', { timeout: 1_200_000 }, async (_, how) => {
      share++
      for (const run of ['first load', 'changes'] as const) {
        const moments = law.momentsOf(run, isWhole)
        expect(moments.length).toBeGreaterThan(isWhole ? 30 : 15)
        // Before and after statements alternate.
        for (const [i, moment] of moments.entries())
          if (isWhole || i % 12 === 2 * (share % 6) + (share % 2)) await law.play({ run, how, moment })
      }
    })
  })
}
