/**
 * Each law can fail: a case that is kept in test/laws/pins holds on the program, and brings to light the fault of one
 * function that is broken (test/support/promises/laws.ts). One that does so no more is replaced by `npm run pins NAME`.
 */
import { afterAll, expect, it } from 'vitest'
import type { Law } from '../support/laws/law.js'
import { lawOf, pinFile, readPin, verdictOf } from '../support/laws/pinned.js'
import type { Address } from '../support/place.js'
import { type LawMutant, laws } from '../support/promises/laws.js'
import { bothWarehouses, type Kind, warehouses } from '../support/warehouse.js'

it('every law has a mutant', () => {
  const numbers = [...new Set(laws.map(({ law }) => Number.parseInt(law, 10)))]
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
})

/** The laws as the program keeps them: one of each kind serves all of its cases. */
const sound = new Map<string, Law<unknown>>()
afterAll(async () => {
  for (const law of sound.values()) await law.close()
})

const addressesOf = (kinds: readonly Kind[]): Promise<Address[]> =>
  Promise.all(kinds.map((kind) => kind.migrated()))

async function soundLaw(mutant: LawMutant, kinds: readonly Kind[]): Promise<Law<unknown>> {
  const name = [mutant.played, ...kinds.map((kind) => kind.name)].join(' ')
  const law = sound.get(name) ?? (await lawOf(mutant, 'sound', await addressesOf(kinds)))
  sound.set(name, law)
  return law
}

it.each(laws)('law $law notices a program that $broken', async (mutant) => {
  const places = mutant.played === 'dialects' ? [bothWarehouses()] : warehouses().map((kind) => [kind])
  const one = readPin(mutant)
  const words = `${pinFile(mutant)}: type npm run pins ${mutant.pin}`
  for (const kinds of places) {
    expect(await verdictOf(await soundLaw(mutant, kinds), one), words).toBeUndefined()
    const broken = await lawOf(mutant, 'broken', await addressesOf(kinds))
    expect(await verdictOf(broken, one), words).toMatch(mutant.says)
    await broken.close()
  }
})
