/** Law 3 (crash), to be called by a test file: laws/crash.ts has the runs and the comparison. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CrashLaw } from './laws/crash.js'
import { describeBothWays } from './warehouse.js'

interface CrashSuite {
  /** Every moment; otherwise one inside each transaction and one after each commit. */
  readonly isWhole: boolean
}

export function crashSuite({ isWhole }: CrashSuite): void {
  describeBothWays((kind) => {
    let law: CrashLaw
    beforeAll(async () => {
      law = await CrashLaw.open([await kind.migrated()])
    })
    afterAll(() => law.close())

    describe.each(['first load', 'changes'] as const)('%s', (run) => {
      it.each([
        ['after a crash and another run', 'crash'],
        ['when the connection is lost', 'lost'],
      ] as const)('is the same %s', { timeout: 1_200_000 }, async (_, how) => {
        const moments = law.momentsOf(run, isWhole)
        expect(moments.length).toBeGreaterThan(isWhole ? 30 : 15)
        for (const moment of moments) await law.play({ run, how, moment })
      })
    })
  })
}
