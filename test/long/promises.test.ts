/**
 * Proves each promise of docs/guarantees.md: with one function of the program broken, the test in the table fails, on
 * every warehouse concerned. `npm run test:long -- promises`; PROMISES='lease|waits' selects those whose promise, or
 * broken part, matches.
 */
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { postgresUrl } from '../support/harness/warehouse.js'
import { type Played, unnoticedOn } from '../support/mutants/play.js'
import { promises } from '../support/mutants/promises.js'
import { played } from '../support/mutants/stage.js'

const { PROMISES = '' } = process.env
const how = { postgresUrl: postgresUrl(), warehouses: 'both' } as const

const chosen = promises
  .map((one) => ({ ...one, title: `${one.promise}: a program that ${one.broken}` }))
  .filter(({ title }) => new RegExp(PROMISES).test(title))
const before = inject('played')
const files = [...new Set(chosen.map(({ test }) => test))].filter(
  (file) => !before.includes(`test/long/promises.test.ts > ${file}`),
)

describe.each(files)('%s', (file) => {
  const mutants = chosen.filter(({ test }) => test === file)
  let tests: Played[]
  beforeAll(async () => {
    const all = mutants.map(({ at }) => at)
    tests = await played(all, how)
  }, 1_800_000)

  it.each(mutants.map(({ title, at }) => [title, at] as const))('notices %s', async (_title, at) => {
    if (unnoticedOn(tests, at).length === 0) return
    // Alone, it is also on in processes, and in what a file prepares for all of its tests.
    expect(unnoticedOn(await played([at], how), at)).toEqual([])
  })
})
