/**
 * Proves each promise of docs/guarantees.md: with one function of the program broken, the test in the table fails, on
 * every warehouse concerned. `npm run test:long -- promises`; PROMISES='lease|waits' selects those whose promise, or
 * broken part, matches.
 */
import { describe, expect, it } from 'vitest'
import { postgresUrl } from '../support/harness/warehouse.js'
import { promises } from '../support/mutants/all.js'
import { Stage } from '../support/mutants/stage.js'

const { PROMISES = '' } = process.env
const url = postgresUrl()

const chosen = promises
  .map((one, at) => ({ ...one, at, title: `${one.promise}: a program that ${one.broken}` }))
  .filter(({ title }) => new RegExp(PROMISES).test(title))
const files = [...new Set(chosen.map(({ test }) => test))]

describe('the program as it is', () => {
  it.each(files)('passes the tests named for %s', async (file) => {
    const names = chosen.filter(({ test }) => test === file).map(({ name }) => name)
    const played = await new Stage(url).play([file], [...new Set(names)])
    expect(played.filter(({ failed }) => failed)).toEqual([])
    for (const name of names)
      expect(played).toContainEqual({ name: expect.stringContaining(name), failed: false })
  })
})

it.each(chosen.map((one) => [one.title, one] as const))('%s', async (_, { breakage, test, name, on, at }) => {
  const stage = new Stage(url, { ...breakage, table: ['test/support/mutants/all.js', 'promises', at] })
  const failed = (await stage.play([test], [name])).filter((one) => one.failed).map((one) => one.name)
  expect(failed).not.toEqual([])
  for (const kind of on) expect(failed).toContainEqual(expect.stringContaining(kind))
})
