/**
 * The laws over random cases, to be called by a test file; a failure prints the smallest case, in the form of
 * test/laws/pins. CASES=… replays those of a file, one JSON a line.
 */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isWhole } from '../harness/size.js'
import { bothWarehouses, describeBothWays, type Kind, warehouses } from '../harness/warehouse.js'
import * as dialects from './laws/dialects.js'
import type { Law, LawFile } from './laws/law.js'
import * as motion from './laws/motion.js'
import * as order from './laws/order.js'

/** How many cases of the largest share are played; or until when all shares together search (test/apart.config.ts). */
type Amount = { readonly cases: number } | { readonly until: number }

export interface LawSuite {
  readonly seed: number
  readonly amount: Amount
}

/** Divides an amount among laws that are played one after the other: time left by one of them goes to the others. */
class Shares {
  constructor(
    private readonly amount: Amount,
    private all: number,
  ) {}

  take(share: number): Amount {
    const { amount, all } = this
    this.all -= share
    if ('cases' in amount) return { cases: Math.max(1, Math.round(amount.cases * share)) }
    const now = Date.now()
    return { until: now + ((amount.until - now) * share) / all }
  }
}

/** Plays so many cases of a seed, or one of each seed until then. Throws the law's error for the smallest that breaks it. */
async function holds(
  name: string,
  law: Law<unknown>,
  cases: fc.Arbitrary<unknown>,
  { seed, amount }: LawSuite,
) {
  const property = fc.asyncProperty(cases, (one) => law.play(one))
  let next = seed
  do {
    // In a search, a case is shrunk for a minute at most.
    const one = { numRuns: 1, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false }
    const size = 'cases' in amount ? { numRuns: amount.cases } : one
    const found = await fc.check(property, { seed: next, ...size })
    if (found.failed && found.counterexample)
      throw new Error(
        [
          String(found.errorInstance),
          `seed ${found.seed}, after ${found.numRuns} cases and ${found.numShrinks} shrinks:`,
          JSON.stringify(found.counterexample[0]),
          ...('until' in amount
            ? [`To search it again, type: SEED=${next} npm run test:apart -- search -t '${name}'`]
            : []),
        ].join('\n'),
      )
    expect(found.numRuns).toBeGreaterThan(0)
    next += 2
  } while ('until' in amount && Date.now() < amount.until)
}

/** A law over cases of one kind, and the share of the amount that is played on SQLite and on Postgres. */
interface Played {
  readonly name: string
  readonly law: LawFile
  readonly cases: string
  readonly sqlite: number
  /** `both`: one law compares the two. */
  readonly postgres: number | 'both'
  /** `npm test` plays it in one mode of SQLite, and pinned cases everywhere. */
  readonly takesLong?: boolean
}

export const laws: readonly Played[] = [
  { name: 'law 1 (replay)', law: order, cases: 'replay', sqlite: 1, postgres: 0.3 },
  { name: 'law 2 (order)', law: order, cases: 'order', sqlite: 1, postgres: 0.3 },
  { name: 'law 4 (dialects)', law: dialects, cases: 'any', sqlite: 1, postgres: 'both' },
]

const seldom = (sqlite: number) => ({ sqlite, postgres: 0.3 * sqlite, takesLong: true })

/** Each history has ten runs, and each comparison takes as long as fifty other scenarios. */
export const motions: readonly Played[] = [
  { name: 'motion while a list is read', law: motion, cases: 'any', sqlite: 1, postgres: 0.3 },
  { name: 'motion of seen for late records', law: motion, cases: 'exchanges', ...seldom(0.2) },
  { name: 'motion in a wide late zone', law: motion, cases: 'wideZone', ...seldom(0.2) },
  { name: 'motion over weeks', law: motion, cases: 'histories', ...seldom(0.2) },
  { name: 'motion while a list is compared', law: motion, cases: 'comparisons', ...seldom(0.02) },
]

export function lawSuite(played: readonly Played[], { seed, amount }: LawSuite): void {
  // SQLite is played in both modes.
  const all = played.map(({ sqlite, postgres }) => (postgres === 'both' ? sqlite : 2 * sqlite + postgres))
  const shares = new Shares(
    amount,
    all.reduce((sum, one) => sum + one, 0),
  )
  describe.each(played)('$name', ({ name, law, cases, sqlite, postgres, takesLong = false }) => {
    const suiteOf = (kinds: readonly Kind[], share: number): void => {
      let open: Law<unknown>
      beforeAll(async () => {
        open = await law.open(await Promise.all(kinds.map((kind) => kind.migrated())))
      })
      afterAll(() => open.close())
      // Both modes of SQLite have their own cases: this covers twice as many.
      const shift = kinds.length === 1 && kinds[0]?.threadFrom === 0 ? 1 : 0
      it('holds', { timeout: 3_600_000 }, () =>
        holds(name, open, law.cases[cases]!, { seed: seed + shift, amount: shares.take(share) }),
      )
      const { CASES = '' } = process.env
      it.runIf(CASES !== '')('replay', async () => {
        for (const line of readFileSync(CASES, 'utf8').trim().split('\n')) await open.play(JSON.parse(line))
      })
    }
    const shareOn = ({ name }: Kind): number => (name === 'sqlite' || postgres === 'both' ? sqlite : postgres)
    if (postgres === 'both') suiteOf(bothWarehouses(), sqlite)
    else if (takesLong && !isWhole())
      describe.each(warehouses())('$name', (kind) => suiteOf([kind], shareOn(kind)))
    else describeBothWays((kind) => suiteOf([kind], shareOn(kind)))
  })
}
