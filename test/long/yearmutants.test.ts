/** The year can fail: some of its days are played on a program in which one function is broken, and have to notice. */
import { describe, expect, it } from 'vitest'
import type { Address } from '../support/harness/place.js'
import { warehouses } from '../support/harness/warehouse.js'
import { brokenProduct, load } from '../support/mutants/brokenproduct.js'
import { type YearMutant, yearMutants } from '../support/mutants/year.js'
import { Year } from '../support/world/year.js'

/** The error of one of several years: in each, the kill comes at a different moment, and not every moment matters. */
async function said(
  Played: typeof Year,
  { from, days }: YearMutant,
  address: () => Address,
): Promise<string> {
  for (const seed of [7, 8, 9, 10])
    try {
      await new Played(address(), seed).run(days, from)
    } catch (error) {
      return String(error)
    }
  return 'nothing'
}

describe.each(warehouses())('on $name', ({ address }) => {
  it.each(yearMutants.map((mutant, at) => [mutant.broken, mutant, at] as const))(
    'notices a program that %s',
    async (_, mutant, at) => {
      const table = ['test/support/mutants/year.js', 'yearMutants', at] as const
      const dist = brokenProduct({ ...mutant.breakage, table })
      const broken = await load<{ Year: typeof Year }>(dist, 'test/support/world/year.ts')
      expect(await said(broken.Year, mutant, address)).toMatch(mutant.says)
    },
  )

  it('passes on the unbroken program', async () => {
    expect(await new Year(address(), 7).run(1, 9)).toMatchObject({ runs: 25 })
  })
})
