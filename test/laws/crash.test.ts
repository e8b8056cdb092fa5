/**
 * Law 3 (crash): at every moment of a run, and in `npm test` at each twelfth one on each warehouse and for each way, so that
 * together they have half of them. The runs and the comparison are in test/support/world/laws/crash.ts.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isWhole } from '../support/harness/size.js'
import { describeBothWays } from '../support/harness/warehouse.js'
import { type CrashLaw, open } from '../support/world/laws/crash.js'

const ways = [
  ['after a crash and another run', 'crash'],
  ['when the connection is lost', 'lost'],
] as const

let share = 0
describeBothWays((kind) => {
  let law: CrashLaw
  beforeAll(async () => {
    law = await open([await kind.migrated()])
  })
  afterAll(() => law.close())

  it.each(ways)('is the same %s', { timeout: 1_200_000 }, async (_, how) => {
    share++
    for (const run of ['first load', 'changes'] as const) {
      const moments = law.momentsOf(run, isWhole())
      expect(moments.length).toBeGreaterThan(isWhole() ? 30 : 15)
      // Before and after statements alternate.
      for (const [i, moment] of moments.entries())
        if (isWhole() || i % 12 === 2 * (share % 6) + (share % 2)) await law.play({ run, how, moment })
    }
  })
})
