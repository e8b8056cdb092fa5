/**
 * The figures of the house: how much code there is, what one has to read to follow one cursor's walk, and whether each
 * thing is in one place. `npm run house` prints them; two tests check them.
 */
import { basename, dirname } from 'node:path'
import { arrowsUpwards, featureCircles, pairsOfFeatures } from './rooms.js'
import { filesIn, targetsOf, textOf, withoutComments } from './tree.js'

/** The program's own files: the sandbox is a separate program. */
export const programFiles = (): string[] =>
  filesIn('src', '.ts').filter((file) => !file.startsWith('src/sandbox/'))

const linesOf = (file: string): number => textOf(file).split('\n').length - 1

export const linesIn = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + linesOf(file), 0)

const isDialect = (file: string): boolean => /\/(sqlite|postgres)\//.test(file)

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

/**
 * The engine's own work: a file there stays, even if only one feature uses it yet. How far changes are settled is a rule of
 * the lease.
 */
const isEngineWork = (file: string): boolean =>
  /^src\/engine\/(run|list|compare)\/|\/changesthrough\.ts$/.test(file)

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

/** What is exported or declared as a type in the program, each name once. */
export const typeNames = (): string[] => {
  const declared = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm
  return [
    ...new Set(
      programFiles().flatMap((file) => [...textOf(file).matchAll(declared)].map((found) => found[1] ?? '')),
    ),
  ]
}

/** The types that are named after the word, such as every kind of `Page`. */
export const kindsOf = (word: string): string[] =>
  typeNames().filter((name) => new RegExp(`${word}(?![a-z])`).test(name))

/** The members of an interface, as its file declares them. */
export function membersOf(file: string, name: string): string[] {
  const [, body = ''] =
    withoutComments(textOf(file)).match(new RegExp(`interface ${name}\\b[^]*?\\{\\n([^]*?)\\n\\}`)) ?? []
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(<:]/gm)].map((found) => found[1] ?? '')
}

/** How many of the exported names exactly one other file of the program uses, in percent. */
export function oneUserPercent(): number {
  const users = new Map<string, Set<string>>()
  const sources = [...filesIn('src', '.ts'), ...filesIn('schema', '.ts')]
  for (const file of sources)
    for (const [word] of withoutComments(textOf(file)).matchAll(/\b[A-Za-z_]\w*\b/g))
      users.set(word, (users.get(word) ?? new Set()).add(file))
  const exported =
    /^export (?:declare )?(?:abstract )?(?:async )?(?:class|function\*?|const|interface|type) (\w+)/gm
  const names = programFiles().flatMap((file) =>
    [...withoutComments(textOf(file)).matchAll(exported)].map((found) => found[1] ?? ''),
  )
  return Math.round((100 * names.filter((name) => users.get(name)?.size === 2).length) / names.length)
}

/** A figure of the house that should fall: where it should go, and above what it may not rise. */
export interface Bounded {
  readonly what: string
  readonly now: number
  readonly wanted: number
  readonly bound: number
}

/** The figures that should fall. A change may raise a bound if its commit says what for. */
export function boundedFigures(): Bounded[] {
  const reach = (file: string, wanted: number, bound: number): Bounded => {
    const what = `files that ${file.replace(/\.ts$/, '')} imports, all told`
    return { what, now: importedBy(`src/${file}`).size, wanted, bound }
  }
  const kinds = (word: string, wanted: number, bound: number): Bounded => ({
    what: `kinds of ${word.toLowerCase()}`,
    now: kindsOf(word).length,
    wanted,
    bound,
  })
  const dialect = membersOf('src/engine/warehouse/dialect.ts', 'Dialect').length
  return [
    reach('engine/warehouse/apply.ts', 35, 47),
    reach('engine/run/cursorwalk.ts', 62, 61),
    reach('engine/run/run.ts', 120, 156),
    reach('features/sync/command.ts', 230, 309),
    { what: 'pairs of features', now: pairsOfFeatures(), wanted: 35, bound: 40 },
    { what: 'type names', now: typeNames().length, wanted: 780, bound: 914 },
    kinds('Cursor', 14, 22),
    kinds('Page', 12, 20),
    kinds('Run', 14, 19),
    { what: 'members of Dialect', now: dialect, wanted: 20, bound: 20 },
    { what: 'exports with one user, percent', now: oneUserPercent(), wanted: 30, bound: 45 },
    { what: 'files that know the fence', now: filesOfFence().length, wanted: 10, bound: 10 },
  ]
}

/** The table of figures, as `npm run house` prints it. */
export function houseText(): string {
  const files = programFiles()
  const schema = filesIn('schema', '.ts')
  const folders = ['adopt', 'forget', 'snapshot'].map((feature) => foldersOf(feature).size)
  const test = 'test/house.test.ts'
  return table([
    ['files of src without the sandbox, and of schema', files.length + schema.length, '530', 'nothing'],
    ['lines of them, all', linesIn([...files, ...schema]), '63000', 'nothing'],
    ['features in a circle', featureCircles().length, '0', 'test/architecture.test.ts'],
    ...boundedFigures().map(
      ({ what, now, wanted, bound }) => [what, now, String(wanted), `${test}: at most ${bound}`] as const,
    ),
    ['files that the first parameter of a run passes through, names it bears', '', '12, 14', 'by hand'],
    ['places that make the verdict proven', placesOfProven().length, '1', test],
    ['folders that adopt, forget, snapshot are in', folders.join(', '), '1, 1, 1', test],
    ['file names that repeat, but for roles and dialects', repeatedNames().length, '0', test],
    ['circles', 0, '0', 'biome.json'],
    ['arrows upwards', arrowsUpwards(files).length, '0', 'test/architecture.test.ts'],
  ])
}

if (process.argv[1]?.endsWith('house.js')) console.log(houseText())
