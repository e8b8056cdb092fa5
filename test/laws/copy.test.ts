/** The mutants of `copy` fit the program as it is; whether their tests notice them: test/long/copymutants.test.ts. */
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { copyMutants } from '../support/copymutants.js'
import { fits } from '../support/productmutants.js'

it.each(
  Object.entries(copyMutants).flatMap(([promise, all]) =>
    all.map((one) => [promise, one.without, one] as const),
  ),
)('%s: without %s, the change fits', (_promise, _without, mutant) => {
  expect(fits(mutant)).toBe(1)
  expect(existsSync(mutant.test)).toBe(true)
})
