/**
 * For each premise of docs/guarantees.md, what the program does where it breaks: taken away, the test that the table names
 * fails, on every warehouse that is meant. `npm run test:long -- premises`; PREMISES='lease|waits' takes those whose premise
 * or mend matches.
 */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { beforeAll, expect, inject, it } from 'vitest'
import { compiledOf } from '../support/compiled.js'
import { type PremiseMutant, premiseMutants } from '../support/premises.js'
import { scratch } from '../support/scratch.js'
import { root } from '../support/tree.js'

interface Result {
  readonly name: string
  readonly failed: boolean
}

const wanted = new RegExp(process.env.PREMISES ?? '')
const cases = Object.entries(premiseMutants)
  .flatMap(([premise, mutants]) => mutants.map((mutant) => [premise, mutant.without, mutant] as const))
  .filter(([premise, without]) => wanted.test(`${premise}: without ${without}`))

/** The tree of the project, whose compiled files may be changed. */
const copy = scratch()
beforeAll(() => {
  const left = new Set(['node_modules', '.git'].map((name) => join(root, name)))
  cpSync(root, copy, { recursive: true, preserveTimestamps: true, filter: (path) => !left.has(path) })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
})

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Runs tests of the copy: those whose names hold one of the texts. */
async function play(files: readonly string[], names: readonly string[]): Promise<Result[]> {
  const output = join(copy, 'result.json')
  rmSync(output, { force: true })
  const words = ['run', ...files, '-t', names.map(escaped).join('|')]
  const reporter = ['--reporter=json', `--outputFile=${output}`]
  const child = spawn('node', [join(copy, 'node_modules/vitest/vitest.mjs'), ...words, ...reporter], {
    cwd: copy,
    env: { ...process.env, TEST_POSTGRES: inject('postgresUrl') },
    stdio: 'ignore',
    timeout: 1_800_000,
  })
  await new Promise((resolve) => child.once('exit', resolve))
  // A mutant that hangs has been noticed by no test.
  if (!existsSync(output)) return []
  const report = JSON.parse(readFileSync(output, 'utf8')) as {
    testResults: { assertionResults: { fullName: string; status: string }[] }[]
  }
  return report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'passed' || status === 'failed')
    .map(({ fullName, status }) => ({ name: fullName, failed: status === 'failed' }))
}

/** Runs the test of a mutant with it in place. */
async function playMutant({ file, old, now, test, name }: PremiseMutant): Promise<Result[]> {
  const compiled = join(copy, relative(root, compiledOf(file)))
  const text = readFileSync(compiled, 'utf8')
  writeFileSync(
    compiled,
    text.replace(old, () => now),
  )
  try {
    return await play([test], [name])
  } finally {
    writeFileSync(compiled, text)
  }
}

it('the tests pass as the program is', async () => {
  const mutants = cases.map(([, , mutant]) => mutant)
  const results = await play(
    [...new Set(mutants.map(({ test }) => test))],
    [...new Set(mutants.map(({ name }) => name))],
  )
  expect(results.filter(({ failed }) => failed)).toEqual([])
  for (const { name } of mutants)
    expect(
      results.some((result) => result.name.includes(name)),
      name,
    ).toBe(true)
})

it.each(cases)('%s: without %s', async (_premise, _without, mutant) => {
  const failed = (await playMutant(mutant)).filter((result) => result.failed).map(({ name }) => name)
  const kinds = inject('postgresUrl') === '' ? ['sqlite'] : ['sqlite', 'postgres']
  if (mutant.on.length === 0) expect(failed).not.toEqual([])
  for (const kind of mutant.on.filter((on) => kinds.includes(on)))
    expect(failed).toContainEqual(expect.stringContaining(kind))
})
