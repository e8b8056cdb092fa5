/* The suite of a table of mutants: each test passes as the program is, and each mutant is noticed by its own. */
import { beforeAll, expect, it } from 'vitest'
import { postgresUrl } from '../support/warehouse.js'
import { MutantStage, type MutantTable } from './productmutants.js'

/** `wanted`: plays those whose promise or whose name matches. */
export function mutantSuite(table: MutantTable, wanted = ''): void {
  const cases = Object.entries(table)
    .flatMap(([promise, mutants]) => mutants.map((mutant) => [promise, mutant.without, mutant] as const))
    .filter(([promise, without]) => new RegExp(wanted).test(`${promise}: without ${without}`))
  const tests = new Map(cases.map(([, , { test, name }]) => [`${test}: ${name}`, { test, name }] as const))
  let stage: MutantStage
  beforeAll(() => {
    stage = new MutantStage(postgresUrl())
  })

  // Alone, as the mutants play it: a test that needs what another one has left behind would notice any of them.
  it.each([...tests])('passes as the program is: %s', async (_title, { test, name }) => {
    const played = await stage.play([test], [name])
    expect(played.filter(({ failed }) => failed)).toEqual([])
    expect(played).not.toEqual([])
  })

  it.each(cases)('%s: without %s', async (_promise, _without, mutant) => {
    const failed = (await stage.playMutant(mutant)).filter((one) => one.failed).map(({ name }) => name)
    const kinds = postgresUrl() === '' ? ['sqlite'] : ['sqlite', 'postgres']
    if (mutant.on.length === 0) expect(failed).not.toEqual([])
    for (const kind of mutant.on.filter((on) => kinds.includes(on)))
      expect(failed).toContainEqual(expect.stringContaining(kind))
  })
}
