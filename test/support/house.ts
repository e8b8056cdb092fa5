/**
 * The figures of the house: how much code there is, what one has to read to follow one cursor's walk, and whether each
 * thing is in one place. `npm run house` prints them; two tests check them.
 */
import { basename, dirname } from 'node:path'
import { arrowsUpwards } from './rooms.js'
import { filesIn, targetsOf, textOf, withoutComments } from './tree.js'

/** The program's own files: the sandbox is a separate program. */
export const programFiles = (): string[] =>
  filesIn('src', '.ts').filter((file) => !file.startsWith('src/sandbox/'))

const linesOf = (file: string): number => textOf(file).split('\n').length - 1

export const linesIn = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + linesOf(file), 0)

const isDialect = (file: string): boolean => /\/(sqlite|postgres)\//.test(file)

/** The file in src where one cursor's walk starts. */
export const cursorWalk = 'src/engine/run/cursorwalk.ts'

/** All files of src that a file imports, directly or indirectly, including itself; type imports count. */
export function importedBy(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file) || !file.startsWith('src/')) return found
  found.add(file)
  for (const target of targetsOf(file)) importedBy(target, found)
  return found
}

/** Names for a file's role in its feature, which therefore repeat. */
const roles = new Set(['feature', 'command', 'words', 'work', 'sql', 'settings', 'tables', 'step'])

/** File names used for more than one thing, each with its files and what to do. */
export function repeatedNames(): string[] {
  const places = new Map<string, Set<string>>()
  for (const file of programFiles()) {
    const name = basename(file, '.ts')
    if (file.startsWith('src/features/') && roles.has(name)) continue
    // A method of the dialects is declared in warehouse/ and implemented in each dialect's folder under the same name.
    const place = file.replace(/warehouse\/(sqlite|postgres)\//, 'warehouse/')
    places.set(name, (places.get(name) ?? new Set()).add(place))
  }
  return [...places]
    .filter(([, files]) => files.size > 1)
    .map(([name, files]) => `${name}.ts stands for ${[...files].join(' and ')}: name each by what it holds`)
}

const verdict = `'(?:proven|repaired|listed|unproven|none)'`
/** A comparison, a type, or a list of several verdicts: these don't give a verdict. */
const naming = new RegExp(
  `[!=]== ${verdict}|${verdict}(?: \\| ${verdict})+|(?<=\\[)${verdict}(?:, ${verdict})+|(?<=^\\s*)${verdict},$|case ${verdict}`,
  'g',
)

/** Where a file gives the verdict `proven`, rather than comparing with it or using it in a type: "file:line". */
export function placesOfProven(): string[] {
  return programFiles().flatMap((file) =>
    textOf(file)
      .split('\n')
      .flatMap((line, i) => (line.replaceAll(naming, '').includes("'proven'") ? [`${file}:${i + 1}`] : [])),
  )
}

/** The folders of features. */
export const featureNames = (): string[] => [
  ...new Set(
    programFiles()
      .filter((file) => file.startsWith('src/features/'))
      .map((file) => file.split('/')[2] ?? ''),
  ),
]

/** The files that handle the fence of a lease. */
export const filesOfFence = (): string[] =>
  programFiles().filter((file) => /\bfence\b/.test(withoutComments(textOf(file))))

/** The engine's own work: a file there stays, even if only one feature uses it yet. */
const isEngineWork = (file: string): boolean => /^src\/engine\/(run|list|compare)\//.test(file)

/**
 * The folders a feature is in: its own, and those of files that nothing else imports and that belong to no other
 * feature. Dialects don't count: what only one database can do belongs there.
 */
export function foldersOf(feature: string): ReadonlySet<string> {
  const files = programFiles()
  const importers = new Map<string, string[]>()
  for (const file of files)
    for (const target of targetsOf(file)) importers.set(target, [...(importers.get(target) ?? []), file])
  const home = `src/features/${feature}/`
  const own = new Set(files.filter((file) => file.startsWith(home)))
  const mayMove = files.filter(
    (file) => !file.startsWith('src/features/') && !isDialect(file) && !isEngineWork(file),
  )
  for (let before = -1; before < own.size; ) {
    before = own.size
    for (const file of mayMove) {
      const users = importers.get(file) ?? []
      if (users.length > 0 && users.every((user) => own.has(user))) own.add(file)
    }
  }
  return new Set([...own].map((file) => file.split('/').slice(0, 3).join('/')).map(folderOf))
}

const folderOf = (path: string): string => (path.endsWith('.ts') ? dirname(path) : path)

const table = (rows: readonly (readonly [string, string | number, string, string])[]): string => {
  const head = ['', 'now', 'wanted', 'held by'] as const
  const all = [head, ...rows.map((row) => row.map(String))]
  const widths = head.map((_, i) => Math.max(...all.map((row) => (row[i] ?? '').length)))
  return all
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The table of figures, as `npm run house` prints it. */
export function houseText(): string {
  const files = programFiles()
  const walk = [...importedBy(cursorWalk)]
  const folders = ['adopt', 'forget', 'snapshot'].map((feature) => foldersOf(feature).size)
  const test = 'test/house.test.ts'
  return table([
    ['files of src without the sandbox', files.length, '330 (a sign)', 'nothing'],
    ['lines of them, all', linesIn(files), '40000 (a sign)', 'nothing'],
    [`files that ${basename(cursorWalk)} imports, all told`, walk.length, '90', test],
    ['lines of them, all', linesIn(walk), '10500', test],
    ['files that the first parameter of a run passes through, names it bears', '', '12, 14', 'by hand'],
    ['places that make the verdict proven', placesOfProven().length, '1', test],
    ['folders that adopt, forget, snapshot are in', folders.join(', '), '1, 1, 1', test],
    ['file names that repeat, but for roles and dialects', repeatedNames().length, '0', test],
    ['files that know the fence', filesOfFence().length, '10', test],
    ['circles', 0, '0', 'biome.json'],
    ['arrows upwards', arrowsUpwards(programFiles()).length, '0', 'test/architecture.test.ts'],
  ])
}

if (process.argv[1]?.endsWith('house.js')) console.log(houseText())
