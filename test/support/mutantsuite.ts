/* The suite of a table of mutants: the tests pass as the program is, and each mutant is noticed by its own. */
import { beforeAll, expect, inject, it } from 'vitest'
import { MutantStage, type MutantTable } from './productmutants.js'

/** `wanted`: plays those whose promise or whose name matches. */
export function mutantSuite(table: MutantTable, wanted = ''): void {
  const cases = Object.entries(table)
    .flatMap(([promise, mutants]) => mutants.map((mutant) => [promise, mutant.without, mutant] as const))
    .filter(([promise, without]) => new RegExp(wanted).test(`${promise}: without ${without}`))
  let stage: MutantStage
  beforeAll(() => {
    stage = new MutantStage(inject('postgresUrl'))
  })

  it('the tests pass as the program is', async () => {
    const mutants = cases.map(([, , mutant]) => mutant)
    const played = await stage.play(
      [...new Set(mutants.map(({ test }) => test))],
      [...new Set(mutants.map(({ name }) => name))],
    )
    expect(played.filter(({ failed }) => failed)).toEqual([])
    for (const { name } of mutants)
      expect(
        played.some((one) => one.name.includes(name)),
        name,
      ).toBe(true)
  })

  it.each(cases)('%s: without %s', async (_promise, _without, mutant) => {
    const failed = (await stage.playMutant(mutant)).filter((one) => one.failed).map(({ name }) => name)
    const kinds = inject('postgresUrl') === '' ? ['sqlite'] : ['sqlite', 'postgres']
    if (mutant.on.length === 0) expect(failed).not.toEqual([])
    for (const kind of mutant.on.filter((on) => kinds.includes(on)))
      expect(failed).toContainEqual(expect.stringContaining(kind))
  })
}
