/**
 * The mutants of what stays up around the runs fit the program as it is; whether their tests notice them is the matter of
 * test/long/service.test.ts.
 */
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { metricMutants } from '../support/metricmutants.js'
import { fits } from '../support/productmutants.js'
import { serviceMutants } from '../support/servicemutants.js'

it.each(
  Object.entries({ ...serviceMutants, ...metricMutants }).flatMap(([promise, all]) =>
    all.map((one) => [promise, one.without, one] as const),
  ),
)('%s: without %s, the change fits', (_promise, _without, mutant) => {
  expect(fits(mutant)).toBe(1)
  expect(existsSync(mutant.test)).toBe(true)
  expect(mutant.name).not.toBe('')
})
