/**
 * Each law can fail: a case in test/laws/pins holds on the program, and reveals the fault of one broken function
 * (test/support/mutants/laws.ts). A case that no longer does so is replaced by `npm run pins NAME`.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Address } from '../support/harness/place.js'
import { bothWarehouses, type Kind, warehouses } from '../support/harness/warehouse.js'
import { type LawMutant, laws } from '../support/mutants/laws.js'
import type { Law } from '../support/world/laws/law.js'
import { lawOf, pinFile, readPin, verdictOf } from '../support/world/laws/pinned.js'

it('every law has a mutant', () => {
  const numbers = [...new Set(laws.map(({ law }) => Number.parseInt(law, 10)))]
  // Laws 7 (drift.test.ts) and 8 (engine/run/cost.test.ts) need no search, and have their mutants among the promises.
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 9])
})

const addressesOf = (kinds: readonly Kind[]): Promise<Address[]> =>
  Promise.all(kinds.map((kind) => kind.migrated()))

const placesOf = ({ played }: LawMutant): Kind[][] =>
  played === 'dialects' ? [bothWarehouses()] : warehouses().map((kind) => [kind])

const nameOf = ({ played }: LawMutant, kinds: readonly Kind[]): string =>
  [played, ...kinds.map((kind) => kind.name)].join(' ')

/**
 * The laws as the program keeps them: one of each kind serves all of its cases. A test's own databases are dropped with
 * it.
 */
const sound = new Map<string, Law<unknown>>()
beforeAll(async () => {
  for (const mutant of laws)
    for (const kinds of placesOf(mutant)) {
      const name = nameOf(mutant, kinds)
      if (!sound.has(name)) sound.set(name, await lawOf(mutant, 'sound', await addressesOf(kinds)))
    }
})
afterAll(async () => {
  for (const law of sound.values()) await law.close()
})

/** A case that several mutants share is played once on the program as it is. */
const verdicts = new Map<string, Promise<string | undefined>>()
function soundly(mutant: LawMutant, kinds: readonly Kind[], one: unknown): Promise<string | undefined> {
  const name = nameOf(mutant, kinds)
  const played = `${name} ${JSON.stringify(one)}`
  const verdict = verdicts.get(played) ?? verdictOf(sound.get(name)!, one)
  verdicts.set(played, verdict)
  return verdict
}

it.each(laws)('law $law notices $pin', async (mutant) => {
  const one = readPin(mutant)
  const words = `${pinFile(mutant)}: type npm run pins ${mutant.pin}`
  for (const kinds of placesOf(mutant)) {
    expect(await soundly(mutant, kinds, one), words).toBeUndefined()
    const broken = await lawOf(mutant, 'broken', await addressesOf(kinds))
    expect(await verdictOf(broken, one), words).toMatch(mutant.says)
    await broken.close()
  }
})
