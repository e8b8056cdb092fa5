/** The year can fail: some days of it are played on a program in which one thing is broken, and have to notice that. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Breakage, brokenProduct } from '../support/brokenproduct.js'
import type { Address } from '../support/place.js'
import { warehouses } from '../support/warehouse.js'
import { Year } from '../support/year.js'

interface Mutant extends Breakage {
  /** The days of the year that bring it to light, from the first one on. */
  readonly from: number
  readonly days: number
  readonly says: RegExp
}

const mutants: readonly Mutant[] = [
  {
    name: 'a record is lost on its way from the page to its row, and the walk is proven',
    file: 'src/model/flatten/flatten.js',
    sound: 'roots.push(tuple)',
    broken: 'if (roots.length < 99) roots.push(tuple)',
    from: 0,
    days: 1,
    says: /a whole sync of notes .* left record/,
  },
  {
    name: 'the watermark moves with each page, and a killed walk is forgotten',
    file: 'src/sync/walks/ends.js',
    sound: 'moveCursor(db, key, { walk: kept })',
    broken: 'moveCursor(db, key, { walk: null, watermark: kept?.ceiling ?? null })',
    from: 9,
    days: 1,
    says: /a whole sync of notes .* left record/,
  },
  {
    name: 'walks begin at the watermark, without the overlap',
    file: 'src/sync/run/resume.js',
    sound: 'BigInt(overlapMs) * 1000n',
    broken: '0n',
    from: 0,
    days: 2,
    says: /a whole sync of .* left record/,
  },
  {
    name: 'reconcile finds what was deleted, and marks nothing',
    file: 'src/sync/reconcile/tombstone.js',
    sound: '(await session.run(tombstone.compile())).affected === 0',
    broken: 'tombstone === undefined',
    from: 0,
    days: 2,
    says: /a whole reconcile of .* left record/,
  },
  {
    name: 'a run whose cursors are skipped says ok',
    file: 'src/sync/run/runend.js',
    sound: 'reason === null && ends.every(isDone)',
    broken: 'isDone !== undefined',
    from: 4,
    days: 1,
    says: /less than whole, and not said/,
  },
  {
    name: 'a run goes on from an address that nobody has adopted',
    file: 'src/warehouse/belonging.js',
    sound: 'owner === undefined || isSame(owner, asked)',
    broken: 'isSame !== undefined',
    from: 20,
    days: 1,
    says: /an address that nobody has adopted/,
  },
]

/** What one of some years says: a kill strikes at a moment of its own in each, and not every moment matters. */
async function said(Played: typeof Year, { from, days }: Mutant, address: () => Address): Promise<string> {
  for (const seed of [7, 8, 9, 10])
    try {
      await new Played(address(), seed).run(days, from)
    } catch (error) {
      return String(error)
    }
  return 'nothing'
}

describe.each(warehouses())('on $name', ({ address }) => {
  it.each(mutants)('$name', async (mutant) => {
    const broken = await import(join(brokenProduct(mutant), 'test/support/year.js'))
    expect(await said(broken.Year as typeof Year, mutant, address)).toMatch(mutant.says)
  })

  it('passes on the program as it is', async () => {
    expect(await new Year(address(), 7).run(1, 9)).toMatchObject({ runs: 25 })
  })
})
