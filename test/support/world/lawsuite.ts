/**
 * The laws over random cases, to be called by a test file; a failure prints the smallest case, in the form of
 * test/laws/pins.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Address } from '../harness/place.js'
import { bothWarehouses, describeBothWays, type Kind } from '../harness/warehouse.js'
import * as cost from './laws/cost.js'
import * as dialects from './laws/dialects.js'
import * as drift from './laws/drift.js'
import type { Law, LawFile } from './laws/law.js'
import * as order from './laws/order.js'
import * as watermark from './laws/watermark.js'

/** How many cases of the largest share are played; or until when all shares together search (npm run test:search). */
export type Amount = { readonly cases: number } | { readonly until: number }

export interface LawSuite {
  readonly seed: number
  readonly amount: Amount
}

/** The cases of one law: this many from one seed, or one from each seed until then. */
export interface Size {
  readonly law: string
  readonly seed: number
  /** Added to the seed, so that both modes of SQLite have their own cases. */
  readonly shift: number
  readonly amount: Amount
}

/** Divides an amount among laws that are played one after the other: time left by one of them goes to the others. */
export class Shares {
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

/** Throws the law's error for the smallest case that breaks it. */
export async function holds<Case>(law: Law<Case>, cases: fc.Arbitrary<Case>, size: Size): Promise<void> {
  const { amount } = size
  if ('cases' in amount) return check(law, cases, { seed: size.seed + size.shift, numRuns: amount.cases })
  let { seed } = size
  do {
    const again = `SEED=${seed} npm run test:search -- -t '${size.law}'`
    // A case is shrunk for a minute at most.
    const limits = { numRuns: 1, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false }
    await check(law, cases, { seed: seed + size.shift, ...limits }, again)
    seed += 2
  } while (Date.now() < amount.until)
}

async function check<Case>(
  law: Law<Case>,
  cases: fc.Arbitrary<Case>,
  size: fc.Parameters<[Case]>,
  again?: string,
): Promise<void> {
  const found = await fc.check(
    fc.asyncProperty(cases, (one) => law.play(one)),
    size,
  )
  if (found.failed && found.counterexample)
    throw new Error(
      [
        String(found.errorInstance),
        `seed ${found.seed}, after ${found.numRuns} cases and ${found.numShrinks} shrinks:`,
        JSON.stringify(found.counterexample[0]),
        ...(again ? [`To play it again, type: ${again}`] : []),
      ].join('\n'),
    )
  expect(found.numRuns).toBeGreaterThan(0)
}

/** An open law, and the cases for which it must hold. */
interface OpenLaw {
  holds(size: Size): Promise<void>
  close(): Promise<void>
}
type Opening = (addresses: readonly Address[]) => Promise<OpenLaw>

const opening =
  <Case>({ open, cases }: LawFile<Case>, name: string): Opening =>
  async (addresses) => {
    const law = await open(addresses)
    return { holds: (size) => holds(law, cases[name]!, size), close: () => law.close() }
  }

/** Each law's share of the amount, on SQLite and on Postgres. */
const rows: readonly (readonly [name: string, open: Opening, sqlite: number, postgres: number])[] = [
  ['law 1 (replay)', opening(order, 'replay'), 1, 0.3],
  ['law 2 (order)', opening(order, 'order'), 1, 0.3],
  ['law 5 (watermark)', opening(watermark, 'any'), 0.3, 0.15],
  ['law 7 (drift)', opening(drift, 'any'), 0.2, 0.1],
  ['law 8 (cost)', opening(cost, 'any'), 0.1, 0.05],
]

const ofDialects = 1
/** SQLite is played in both modes. */
const allShares = rows.reduce((sum, [, , sqlite, postgres]) => sum + 2 * sqlite + postgres, ofDialects)

export function lawSuite({ seed, amount }: LawSuite): void {
  const shares = new Shares(amount, allShares)

  describe('law 4 (dialects)', () => {
    const size = (): Size => ({ law: 'law 4', seed, shift: 0, amount: shares.take(ofDialects) })
    suiteOf(opening(dialects, 'any'), size, () =>
      Promise.all(bothWarehouses().map((kind) => kind.migrated())),
    )
  })

  describe.each(rows)('%s', (name, open, sqlite, postgres) => {
    describeBothWays((kind) => {
      const size = (): Size => ({
        law: name.slice(0, 5),
        seed,
        shift: shiftOn(kind),
        amount: shares.take(kind.name === 'sqlite' ? sqlite : postgres),
      })
      suiteOf(open, size, async () => [await kind.migrated()])
    })
  })
}

/** Both modes of SQLite have their own cases: this covers twice as many. */
export const shiftOn = (kind: Kind): number => (kind.threadFrom === 0 ? 1 : 0)

function suiteOf(open: Opening, size: () => Size, addresses: () => Promise<Address[]>): void {
  let law: OpenLaw
  beforeAll(async () => {
    law = await open(await addresses())
  })
  afterAll(() => law.close())
  it('holds', { timeout: 3_600_000 }, () => law.holds(size()))
}
