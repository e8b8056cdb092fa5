/**
 * `npm run quick`: the tests nearest to what changed since the last commit, on SQLite, in about half a minute. The
 * nearest tests come first; those that don't fit are listed, and `npm test` runs them.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { testFiles } from './projects.js'
import { filesIn, root, targetsOf } from './tree.js'

/** How many files are run, beside those that changed themselves: most take a few seconds, and two run at once. */
const most = 12

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

const always = 'test/architecture.test.ts'
const near = Object.values(testFiles())
  .flat()
  .flatMap((file) => {
    const steps = file === always ? 0 : distance(file)
    return steps === undefined ? [] : [{ file, steps }]
  })
  .sort((a, b) => a.steps - b.steps)

const chosen = near.filter(({ steps }, i) => steps === 0 || i < most)
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
