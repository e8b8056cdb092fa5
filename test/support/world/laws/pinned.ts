/** The cases stored in test/laws/pins, and the program with the mutants of all laws, one of which may be on. */
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

export class BreakableLaws {
  private constructor(
    private readonly dist: string,
    private readonly choose: (typeof breakages)['choose'],
  ) {}

  static async load(): Promise<BreakableLaws> {
    const dist = brokenProduct(
      ...laws.map(({ breakage }, at) => ({
        ...breakage,
        table: ['test/support/mutants/laws.js', 'laws', at] as const,
      })),
    )
    const { choose } = await load<typeof breakages>(dist, 'test/support/mutants/breakage.ts')
    choose(undefined)
    return new BreakableLaws(dist, choose)
  }

  #file({ played }: LawMutant): Promise<LawFile> {
    return load<LawFile>(this.dist, `test/support/world/laws/${played}.ts`)
  }

  /** The law of a mutant, to be played with it and without. */
  async open(mutant: LawMutant, addresses: readonly Address[]): Promise<Law<unknown>> {
    return (await this.#file(mutant)).open(addresses)
  }

  async casesOf(mutant: LawMutant): Promise<LawFile['cases'][string]> {
    const found = (await this.#file(mutant)).cases[mutant.cases]
    if (!found) throw new Error(`${mutant.played}.ts has no cases ${mutant.cases}`)
    return found
  }

  /** The law's error for a case, in the sound program or with the mutant in it; undefined if it holds. */
  async verdict(law: Law<unknown>, one: unknown, mutant?: LawMutant): Promise<string | undefined> {
    this.choose(mutant && laws.indexOf(mutant))
    return await law
      .play(one)
      .then(
        () => undefined,
        (error: unknown) => String(error),
      )
      .finally(() => this.choose(undefined))
  }
}
