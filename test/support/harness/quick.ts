/**
 * `npm run quick`: the tests nearest to what changed since the last commit, on SQLite, in about half a minute. The
 * nearest tests come first; those that don't fit are listed, and `npm test` runs them.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { testFiles } from './projects.js'
import { filesIn, root, targetsOf } from './tree.js'

/** How many seconds of tests are run, counted one after the other; two files run at once. */
const budget = 50
/** The assumed seconds of a file that no run has measured; laws and processes take long. */
const unmeasured = (file: string): number => (/^test\/(laws|shell|features)\//.test(file) ? 25 : 4)

const git = (...words: string[]): string[] =>
  execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)

const changed = new Set([
  ...git('diff', '--name-only', '--relative', 'HEAD'),
  ...git('ls-files', '--others', '--exclude-standard'),
])

const sources = ['src', 'schema', 'bench', 'test'].flatMap((folder) => filesIn(folder, '.ts'))
const known = new Set(sources)
const targets = new Map(sources.map((file) => [file, targetsOf(file).filter((target) => known.has(target))]))

/** How many imports are between a test and the nearest changed file; undefined if no import leads to one. */
function distance(test: string): number | undefined {
  const seen = new Set([test])
  let steps = 0
  for (let layer = [test]; layer.length > 0; steps++) {
    if (layer.some((file) => changed.has(file))) return steps
    layer = layer
      .flatMap((file) => targets.get(file) ?? [])
      .filter((file) => !seen.has(file) && seen.add(file))
  }
  return undefined
}

/** How many seconds each test file took in its last run here; vitest stores them. */
function durations(): Map<string, number> {
  const seconds = new Map<string, number>()
  const cache = join(root, 'node_modules/.vite/vitest')
  const files = existsSync(cache) ? readdirSync(cache).map((name) => join(cache, name, 'results.json')) : []
  for (const file of files.filter((path) => existsSync(path))) {
    const { results } = JSON.parse(readFileSync(file, 'utf8')) as {
      results: [string, { duration: number }][]
    }
    for (const [name, { duration }] of results)
      seconds.set(name.slice(name.indexOf(':') + 1), duration / 1000)
  }
  return seconds
}

const always = 'test/architecture.test.ts'
const took = durations()
const near = Object.values(testFiles())
  .flat()
  .flatMap((file) => {
    const steps = file === always ? 0 : distance(file)
    return steps === undefined ? [] : [{ file, steps, seconds: took.get(file) ?? unmeasured(file) }]
  })
  .sort((a, b) => a.steps - b.steps || a.seconds - b.seconds)

let spent = 0
const chosen = near.filter(({ steps, seconds }) => {
  const fits = steps === 0 || spent + seconds <= budget
  if (fits) spent += seconds
  return fits
})
const left = near.filter((test) => !chosen.includes(test)).map(({ file }) => file)
console.log(
  `${changed.size} files changed; ${chosen.length} of ${near.length} test files that reach them are run`,
)
if (left.length > 0) console.log(`left to npm test: ${left.join(', ')}`)
const { status } = spawnSync('npx', ['vitest', 'run', ...chosen.map(({ file }) => file)], {
  cwd: root,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
