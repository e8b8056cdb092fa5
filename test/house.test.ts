/**
 * Whether the engine is easy to follow, in figures (`npm run house` prints them), and whether the tour explains its
 * words.
 */
import { describe, expect, it } from 'vitest'
import { boundedFigures, featureNames, foldersOf, placesOfProven, repeatedNames } from './support/house.js'
import { textOf, withoutComments } from './support/tree.js'

describe('the house', () => {
  it.each(boundedFigures())('$what: $now, at most $bound', ({ now, bound }) => {
    expect(now).toBeGreaterThan(0)
    expect(now).toBeLessThanOrEqual(bound)
  })

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
