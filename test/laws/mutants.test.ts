/**
 * Each law can fail: a case that is kept in test/laws/pins holds on the program, and brings to light the fault of one
 * function that is broken (test/support/promises/laws.ts). One that does so no more is replaced by `npm run pins NAME`.
 */
import { expect, it } from 'vitest'
import { lawOf, pinFile, readPin, verdictOf } from '../support/laws/pinned.js'
import { laws } from '../support/promises/laws.js'
import { bothWarehouses, warehouses } from '../support/warehouse.js'

it('every law has a mutant', () => {
  const numbers = [...new Set(laws.map(({ law }) => Number.parseInt(law, 10)))]
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
})

it.each(laws)('law $law notices a program that $broken', async (mutant) => {
  const places = mutant.played === 'dialects' ? [bothWarehouses()] : warehouses().map((kind) => [kind])
  const one = readPin(mutant)
  for (const kinds of places)
    for (const program of ['sound', 'broken'] as const) {
      const law = await lawOf(mutant, program, await Promise.all(kinds.map((kind) => kind.migrated())))
      const said = await verdictOf(law, one)
      await law.close()
      const words = `${pinFile(mutant)} on the ${program} program: type npm run pins ${mutant.pin}`
      if (program === 'sound') expect(said, words).toBeUndefined()
      else expect(said, words).toMatch(mutant.says)
    }
})
