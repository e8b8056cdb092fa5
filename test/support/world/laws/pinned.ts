/** The cases stored in test/laws/pins, and how each of them is played: on the program, and with its mutant in it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from '../../harness/place.js'
import { root } from '../../harness/tree.js'
import type * as breakages from '../../mutants/breakage.js'
import { brokenProduct, load } from '../../mutants/brokenproduct.js'
import { type LawMutant, laws } from '../../mutants/laws.js'
import type { Law, LawFile } from './law.js'

/** Path from the root. */
export const pinFile = ({ pin }: Pick<LawMutant, 'pin'>): string => `test/laws/pins/${pin}.json`

export const readPin = (mutant: LawMutant): unknown =>
  JSON.parse(readFileSync(join(root, pinFile(mutant)), 'utf8'))

const fileOf = ({ played }: LawMutant): string => `test/support/world/laws/${played}.ts`

let broken: string | undefined

/** The program with the mutant in it. One copy has those of all laws, and loads itself once. */
async function brokenBy(mutant: LawMutant): Promise<string> {
  broken ??= brokenProduct(
    ...laws.map(({ breakage }, at) => ({
      ...breakage,
      table: ['test/support/mutants/laws.js', 'laws', at] as const,
    })),
  )
  const { choose } = await load<typeof breakages>(broken, 'test/support/mutants/breakage.ts')
  choose(laws.indexOf(mutant))
  return broken
}

/** The law with the sound program, or with the broken one: until another one is broken. */
export async function lawOf(
  mutant: LawMutant,
  program: 'sound' | 'broken',
  addresses: readonly Address[],
): Promise<Law<unknown>> {
  const dist = program === 'sound' ? join(root, 'dist') : await brokenBy(mutant)
  const { open } = await load<LawFile>(dist, fileOf(mutant))
  return open(addresses)
}

export async function casesOf(mutant: LawMutant): Promise<LawFile['cases'][string]> {
  const found = (await load<LawFile>(join(root, 'dist'), fileOf(mutant))).cases[mutant.cases]
  if (!found) throw new Error(`${fileOf(mutant)} has no cases ${mutant.cases}`)
  return found
}

/** The law's error for a case; undefined if it holds. */
export const verdictOf = (law: Law<unknown>, one: unknown): Promise<string | undefined> =>
  law.play(one).then(
    () => undefined,
    (error: unknown) => String(error),
  )
