/**
 * Each premise of docs/guarantees.md has a line in the table that names what shows it, and each test that the table names
 * exists. Those of the promises about losing, doubling, rolling back, false claims, and data that nobody may see fail
 * when a function is broken; test/long/promises.test.ts checks all of them.
 */
import { dirname } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { filesIn, targetsOf, textOf } from '../support/harness/tree.js'
import { postgresUrl } from '../support/harness/warehouse.js'
import { mutants, planted } from '../support/mutants/all.js'
import { brokenProduct, load } from '../support/mutants/brokenproduct.js'
import { type Played, unnoticedOn } from '../support/mutants/play.js'
import { premises } from '../support/mutants/premises.js'
import { linesOfPromises, promises, wantedLines } from '../support/mutants/promises.js'
import { played } from '../support/mutants/stage.js'
import { HandClock } from '../support/world/clocks.js'

const guarantees = textOf('docs/guarantees.md')
const [, section = ''] = /\n## Premises\n([\s\S]*?)\n## /.exec(guarantees) ?? []
const table = [...section.matchAll(/^\| (?!---|premise \|)(.+?) \|/gm)].map(([, premise]) => premise)

it('every premise has a function without which a test fails, and the other way around', () => {
  const names = (some: typeof promises) => some.map(({ promise }) => promise)
  const shown = names(promises.filter(({ broken }) => broken in premises))
  expect(table.filter((premise) => !names(promises).includes(premise ?? ''))).toEqual([])
  expect(shown.filter((name) => !table.includes(name))).toEqual([])
})

const byFault = promises.map((one) => [one.broken, one] as const)

it.each(byFault)('the test that notices a program that %s exists', (_broken, { test, name }) => {
  const suites = targetsOf(test).filter((file) => file.startsWith('test/support/'))
  const transcripts = filesIn('test/transcripts', '.txt')
  const own = textOf(test)
  const stories = filesIn(dirname(test), '.txt').filter(
    (file) => file.startsWith(test.replace('test.ts', '')) || own.includes(file),
  )
  expect([own, ...[...suites, ...stories].map(textOf), ...transcripts].join('\n')).toContain(name)
})

describe('the tests that promises name', () => {
  const daily = byFault.filter(([, { breakage }]) => breakage.how.includes('daily'))
  let tests: Played[]
  beforeAll(async () => {
    const numbers = daily.map(([, { at }]) => at)
    tests = await played(numbers, { postgresUrl: postgresUrl(), warehouses: 'sqlite' })
  }, 900_000)

  it('pass with the program as it is', () => {
    const failed = tests.filter(({ plays }) => plays.some((one) => one.at === undefined && one.failed))
    expect(failed.map(({ name }) => name)).toEqual([])
  })

  it.each(daily)('notice a program that %s', (_broken, { at }) => {
    expect(unnoticedOn(tests, at)).toEqual([])
  })
})

it('a broken function is broken for the callers in its own file too', async () => {
  const at = mutants.findIndex(({ breakage }) => breakage.name === 'sendPatiently')
  type Beat = (url: string, exitCode: number, clock: HandClock) => Promise<unknown>
  const { beat } = await load<{ beat: Beat }>(brokenProduct(planted(at)), 'src/shell/send.ts')
  const clock = new HandClock('2026-01-01T00:00:00Z')
  const begun = clock.micros
  await beat('http://127.0.0.1:9/', 0, clock)
  expect(clock.micros - begun).toBeGreaterThan(15_000_000n)
})

it('docs/dev/promises.md has a line for each mutant, with the function that it breaks', () => {
  const [_head, _rule, ...lines] = linesOfPromises
  expect(lines.toSorted()).toEqual(wantedLines.toSorted())
})
