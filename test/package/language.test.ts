/** What people read is plain American English: phrases that read like a translation, and what to write instead. */
import { expect, it } from 'vitest'
import { filesIn, textOf } from '../support/tree.js'

/** A phrase that is never right in these pages, and what to write. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/\banew\b/i, 'again'],
  [/\bonce more\b/i, 'again'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\bwhoever\b/i, 'anyone who, or if you'],
  [/\bwithout a word\b/i, 'silently'],
  [/\bneeds? somebody\b/i, 'needs attention'],
  [/\bsomebody should act\b/i, 'needs attention'],
  [/\bbe it\b/i, 'whether'],
  [/\bgoes (?:first|before)\b/i, 'takes precedence'],
  [/(?<!there )\bis no (?:terminal|figure|fault|incident|difference|second)\b/i, "isn't a …"],
  [/\ba line each\b/i, 'one per line'],
  [/\bone table a resource\b/i, 'one table per resource'],
  [/\bsome (?:seconds|milliseconds|minutes)\b/i, 'a few …'],
  [/\bwhere nothing (?:else )?is said\b/i, 'by default, unless noted'],
  [/\bstands? in\b/i, 'is in, are in'],
  [/\bstands still\b/i, "doesn't change, or stalls"],
  [/\bis said\b/i, 'is reported'],
  [/\bsays with numbers\b/i, 'shows'],
  [/\bit still\?/i, 'still …?'],
  [/\bits ways\b/i, 'how it behaves'],
  [/\bthe source[’']s ways\b/i, 'how the source behaves'],
  [/\bfound nothing, expected\b/i, 'missing; expected'],
  [/\blonger than nothing\b/i, 'longer than zero'],
  [/\bnot whole\b/i, 'incomplete'],
  [/\bBeside (?:other|them|each)\b/, 'Compared with, next to'],
  [/\b(?:terminals|eyes|tables|run|environment) alone\b/i, 'only'],
  [/\bby that alone\b/i, 'that is enough'],
  [/\bas ever\b/i, 'as always'],
  [/\blicence\b/i, 'license'],
  [/\bcolour/i, 'color'],
]

/** Pages that still have to be rewritten: take one out of the list when it is done. */
const later = new Set<string>()

/** Tables and pages that the build writes say what the code says. */
const writtenByTheBuild = new Set(['docs/commands.md', 'docs/configuration.md'])

const pages = ['README.md', 'CONTRIBUTING.md', ...filesIn('docs', '.md')].filter(
  (page) => !later.has(page) && !writtenByTheBuild.has(page),
)

/** The text with blocks of code, code in backticks, and what the build writes blanked out; its lines stay where they are. */
function prose(text: string): string {
  const blank = (part: string): string => part.replaceAll(/[^\n]/g, ' ')
  return text
    .replaceAll(/^```[\s\S]*?^```$/gm, blank)
    .replaceAll(/^<!-- [\w-]+: (?:written by the build|begin)[\s\S]*?^<!-- (?:end of|\w+: end)/gm, blank)
    .replaceAll(/^ {4}\S.*$/gm, blank)
    .replaceAll(/`[^`\n]*`/g, blank)
}

/** Each phrase found, also one that a line break divides. */
function phrasesIn(page: string, text: string): string[] {
  const lines = prose(text)
  return patterns.flatMap(([pattern, instead]) => {
    const words = new RegExp(pattern.source.replaceAll(' ', '\\s+'), `g${pattern.flags}`)
    return [...lines.matchAll(words)].map(({ 0: found, index }) => {
      const line = lines.slice(0, index).split('\n').length
      return `${page}:${line}: “${found.replaceAll(/\s+/g, ' ')}”; write: ${instead}`
    })
  })
}

it.for(pages)('%s reads like English', (page) => {
  expect(phrasesIn(page, textOf(page))).toEqual([])
})

it('finds a phrase across lines, and none in code', () => {
  const text = 'Fine.\nIt is read once\nmore.\n\n```text\nanew\n```\n\n    anew\n\nSet `anew`.\n'
  expect(phrasesIn('page.md', text)).toEqual(['page.md:2: “once more”; write: again'])
})
