/** Whether each thing is in one place, and whether the tour explains its words. */
import { basename, dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesIn, targetsOf, textOf, withoutComments } from './support/tree.js'

/** The program's own files: the sandbox is a separate program. */
const programFiles = (): string[] => filesIn('src', '.ts').filter((file) => !file.startsWith('src/sandbox/'))

const isDialect = (file: string): boolean => /\/(sqlite|postgres)\//.test(file)

/** Names for a file's role in its feature, which therefore repeat. */
const roles = new Set(['feature', 'command', 'words', 'work', 'sql', 'settings', 'tables', 'step'])

/** File names used for more than one thing, each with its files and what to do. */
function repeatedNames(): string[] {
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
function placesOfProven(): string[] {
  return programFiles().flatMap((file) =>
    textOf(file)
      .split('\n')
      .flatMap((line, i) => (line.replaceAll(naming, '').includes("'proven'") ? [`${file}:${i + 1}`] : [])),
  )
}

/** The folders of features. */
const featureNames = (): string[] => [
  ...new Set(
    programFiles()
      .filter((file) => file.startsWith('src/features/'))
      .map((file) => file.split('/')[2] ?? ''),
  ),
]

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
function foldersOf(feature: string): ReadonlySet<string> {
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

describe('the house', () => {
  it('gives a verdict in one place', () => {
    expect(placesOfProven().map((place) => place.replace(/:\d+$/, ''))).toEqual([
      'src/engine/list/verdict.ts',
    ])
  })

  it('has a feature in its folder: nothing elsewhere is for one feature only', () => {
    const scattered = featureNames()
      .map((feature) => [feature, ...foldersOf(feature)])
      .filter(([feature, ...folders]) => folders.join() !== `src/features/${feature}`)
    expect(scattered).toEqual([])
  })

  it('names each file for one thing', () => {
    expect(repeatedNames()).toEqual([])
  })
})

describe('the tour', () => {
  const [, tour = ''] = textOf('CONTRIBUTING.md').split('## The tour')
  const [table = ''] = tour.split('\n## ')
  const files = [...table.matchAll(/^\| (?:\[.*?\]\((.+?)\)|`(.+?)`) \|/gm)].map(
    ([, linked, named]) => linked ?? named ?? '',
  )
  const headwords = [...textOf('docs/glossary.md').matchAll(/^\| ([^|]+) \|/gm)]
    .flatMap(([, words = '']) => words.split(','))
    .map((word) => word.trim())
    .slice(2)

  it('goes through a few existing files', () => {
    expect(files.length).toBeGreaterThan(4)
    expect(files.length).toBeLessThanOrEqual(10)
    for (const file of files) expect(textOf(file)).not.toBe('')
  })

  it('uses no word of ours that the glossary lacks', () => {
    const named =
      /^export (?:declare )?(?:abstract )?(?:async )?(?:class|function\*?|const|interface|type) (\w+)/gm
    const known = new Set([...headwords.flatMap((word) => word.split(' ')), ...plain])
    const isKnown = (word: string): boolean =>
      [word, ...[/s$/, /d$/, /ed$/].map((ending) => word.replace(ending, ''))].some((stem) => known.has(stem))
    const unknown = files
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) =>
        [...withoutComments(textOf(file)).matchAll(named)]
          .map(([, name = '']) => name)
          .filter((name) => !wordsOf(name).some(isKnown))
          .map((name) => `${file}: ${name}`),
      )
    expect(unknown).toEqual([])
  })
})

/** `lateZone` consists of two words. */
const wordsOf = (name: string): string[] => name.split(/(?=[A-Z])|_/).map((word) => word.toLowerCase())

/** Words that mean the same everywhere. */
const plain = [
  'now',
  'notes',
  'run',
  'row',
  'list',
  'page',
  'count',
  'tenant',
  'key',
  'state',
  'missing',
  'remember',
  'judge',
  'worst',
]
