/**
 * Each line of the table of premises in docs/guarantees.md has mutants, which fit the program as it is; whether its tests
 * notice them is the matter of test/long/premises.test.ts.
 */
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { premiseMutants } from '../support/premises.js'
import { fits } from '../support/productmutants.js'
import { textOf } from '../support/tree.js'

const [, section = ''] = /\n## Premises\n([\s\S]*?)\n## /.exec(textOf('docs/guarantees.md')) ?? []
/** First and last column of each line. */
const table = section
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| ---') && !line.startsWith('| premise |'))
  .map((line) => line.split(' | '))
  .map((cells) => [cells[0]?.slice(2) ?? '', cells.at(-1) ?? ''] as const)

it('every line of the table has mutants, and names their tests', () => {
  // A suite may have mutants of its own.
  const meant = table.filter(
    ([premise, shownBy]) => premise in premiseMutants || !/with mutants/.test(shownBy),
  )
  expect(Object.keys(premiseMutants)).toEqual(meant.map(([premise]) => premise))
  let named = ''
  for (const [premise, shownBy] of table) {
    named = shownBy.startsWith('the same') ? `${named} ${shownBy}` : shownBy
    for (const { test } of premiseMutants[premise] ?? []) expect(named, premise).toContain(test)
  }
})

it.each(
  Object.entries(premiseMutants).flatMap(([premise, all]) =>
    all.map((one) => [premise, one.without, one] as const),
  ),
)('%s: without %s, the change fits', (_premise, _without, mutant) => {
  expect(fits(mutant)).toBe(1)
  expect(existsSync(mutant.test)).toBe(true)
  expect(mutant.name).not.toBe('')
})
