/**
 * Each law can fail: a case in test/laws/pins holds on the program, and reveals the fault of one broken function
 * (test/support/mutants/laws.ts). A case that no longer does so is replaced by `sh tools/pins.sh NAME`.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bothWarehouses, type Kind, warehouses } from '../support/harness/warehouse.js'
import { type LawMutant, laws } from '../support/mutants/laws.js'
import type { Law } from '../support/world/laws/law.js'
import { BreakableLaws, pinFile, readPin } from '../support/world/laws/pinned.js'

it('every law has a mutant', () => {
  const numbers = [...new Set(laws.map(({ law }) => Number.parseInt(law, 10)))]
  // Laws 7 (drift.test.ts) and 8 (engine/run/cost.test.ts) need no search, and have their mutants among the promises.
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 9])
})

/** The law of the dialects compares two. */
const placesOf = ({ played }: LawMutant): Kind[][] =>
  played === 'dialects' ? [bothWarehouses()] : warehouses().map((kind) => [kind])

const nameOf = ({ played }: LawMutant, kinds: readonly Kind[]): string =>
  [played, ...kinds.map((kind) => kind.name)].join(' ')

let program: BreakableLaws
/** One of each kind serves all of its cases. A test's own databases are dropped with it. */
const opened = new Map<string, Law<unknown>>()
beforeAll(async () => {
  program = await BreakableLaws.load()
  for (const mutant of laws)
    for (const kinds of placesOf(mutant)) {
      if (opened.has(nameOf(mutant, kinds))) continue
      const addresses = await Promise.all(kinds.map((kind) => kind.migrated()))
      opened.set(nameOf(mutant, kinds), await program.open(mutant, addresses))
    }
})
afterAll(async () => {
  for (const law of opened.values()) await law.close()
})

it.each(laws)('law $law notices $pin', async (mutant) => {
  const one = readPin(mutant)
  const words = `${pinFile(mutant)}: type sh tools/pins.sh ${mutant.pin}`
  for (const kinds of placesOf(mutant)) {
    const law = opened.get(nameOf(mutant, kinds))!
    expect(await program.verdict(law, one), words).toBeUndefined()
    expect(await program.verdict(law, one, mutant), words).toMatch(mutant.says)
  }
})
