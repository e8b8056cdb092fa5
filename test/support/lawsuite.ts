/** The laws over random cases, to be called by a test file; a failure prints the smallest case, as test/laws/pins has them. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as cost from './laws/cost.js'
import * as dialects from './laws/dialects.js'
import * as drift from './laws/drift.js'
import type { Law, LawFile } from './laws/law.js'
import * as order from './laws/order.js'
import * as watermark from './laws/watermark.js'
import type { Address } from './place.js'
import { bothWarehouses, describeBothWays, type Kind } from './warehouse.js'

/** How many cases of the largest share are played, or for how long cases are played in all. */
export type Amount = { readonly cases: number } | { readonly seconds: number }

export interface LawSuite {
  readonly seed: number
  readonly amount: Amount
}

/** What fast-check is told: a share of the cases, or of the time that all shares have together. */
export function sizeOf(amount: Amount, share: number, all: number): fc.Parameters<unknown> {
  if ('cases' in amount) return { numRuns: Math.max(1, Math.round(amount.cases * share)) }
  return {
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: (amount.seconds * 1000 * share) / all,
    markInterruptAsFailure: false,
  }
}

/** Throws what the law says of the smallest case that breaks it. */
export async function holds<Case>(
  law: Law<Case>,
  cases: fc.Arbitrary<Case>,
  size: fc.Parameters<unknown>,
): Promise<void> {
  const found = await fc.check(
    fc.asyncProperty(cases, (one) => law.play(one)),
    size as fc.Parameters<[Case]>,
  )
  if (found.failed && found.counterexample)
    throw new Error(
      `${String(found.errorInstance)}\nseed ${found.seed}, after ${found.numRuns} cases and ${found.numShrinks} shrinks:\n${JSON.stringify(found.counterexample[0])}`,
    )
  expect(found.numRuns).toBeGreaterThan(0)
}

/** A law that is open, and the cases that it is to hold for. */
interface OpenLaw {
  holds(size: fc.Parameters<unknown>): Promise<void>
  close(): Promise<void>
}
type Opening = (addresses: readonly Address[]) => Promise<OpenLaw>

const opening =
  <Case>({ open, cases }: LawFile<Case>, name: string): Opening =>
  async (addresses) => {
    const law = await open(addresses)
    return { holds: (size) => holds(law, cases[name]!, size), close: () => law.close() }
  }

/** What share of the amount each law gets, on SQLite and on Postgres. */
const rows: readonly (readonly [name: string, open: Opening, sqlite: number, postgres: number])[] = [
  ['law 1 (replay)', opening(order, 'replay'), 1, 0.3],
  ['law 2 (order)', opening(order, 'order'), 1, 0.3],
  ['law 5 (watermark)', opening(watermark, 'any'), 0.3, 0.15],
  ['law 7 (drift)', opening(drift, 'any'), 0.2, 0.1],
  ['law 8 (cost)', opening(cost, 'any'), 0.1, 0.05],
]

const ofDialects = 1
/** SQLite is played both ways. */
const allShares = rows.reduce((sum, [, , sqlite, postgres]) => sum + 2 * sqlite + postgres, ofDialects)

export function lawSuite({ seed, amount }: LawSuite): void {
  describe.each(rows)('%s', (_name, open, sqlite, postgres) => {
    describeBothWays((kind) => {
      const size = sizeOf(amount, kind.name === 'sqlite' ? sqlite : postgres, allShares)
      suiteOf(open, { ...size, seed: seedOn(kind, seed) }, async () => [await kind.migrated()])
    })
  })

  describe('law 4 (dialects)', () => {
    const size = { ...sizeOf(amount, ofDialects, allShares), seed }
    suiteOf(opening(dialects, 'any'), size, () =>
      Promise.all(bothWarehouses().map((kind) => kind.migrated())),
    )
  })
}

/** Each way of SQLite has cases of its own: twice as much is seen. */
export const seedOn = (kind: Kind, seed: number): number => seed + (kind.threadFrom === 0 ? 1 : 0)

function suiteOf(open: Opening, size: fc.Parameters<unknown>, addresses: () => Promise<Address[]>): void {
  let law: OpenLaw
  beforeAll(async () => {
    law = await open(await addresses())
  })
  afterAll(() => law.close())
  it('holds', { timeout: 3_600_000 }, () => law.holds(size))
}
