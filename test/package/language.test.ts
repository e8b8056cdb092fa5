/** What people read is plain American English: phrases that read like a translation, and what to write instead. */
import { expect, it } from 'vitest'
import { features } from '../../src/main.js'
import { commandsOf } from '../../src/shell/features.js'
import { shopsync } from '../support/call.js'
import { everywhere, type Phrase, printed } from '../support/english.js'
import { textsIn } from '../support/texts.js'
import { filesIn, textOf } from '../support/tree.js'

const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...filesIn('docs', '.md')]

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
  return everywhere.flatMap(([pattern, instead]) => {
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

/** What the report, the dictionary and the sandbox's data say is not a message; SQL is not prose. */
const isOfMessages = (file: string): boolean =>
  !/^src\/(sandbox|features\/(report|dictionary|analytics)|engine\/model)\/|\/tables\.ts$|sql\.ts$/.test(file)

const told = (text: string, phrases: readonly Phrase[]): string[] =>
  phrases.flatMap(([pattern, instead]) => {
    const found = pattern.exec(text.replaceAll(/\s+/g, ' '))?.[0]
    return found === undefined ? [] : [`“${found}” in “${text.slice(0, 160)}”; write: ${instead}`]
  })

it.for(commandsOf(features).map(({ name }) => name))('the help of %s reads like English', async (name) => {
  const { stdout, code } = await shopsync([name, '--help'])
  expect(code).toBe(0)
  expect(told(stdout, printed)).toEqual([])
})

it('every message, hint, alert and log line reads like English', () => {
  const files = filesIn('src', '.ts').filter(isOfMessages)
  const texts = files.flatMap((file) => textsIn(file).map((text) => ({ file, text })))
  expect(texts.length).toBeGreaterThan(1000)
  expect(texts.flatMap(({ file, text }) => told(text, printed).map((line) => `${file}: ${line}`))).toEqual([])
})

it('the report, the dictionary and the state tables read like English', () => {
  const files = [...filesIn('schema', '.ts'), ...filesIn('src', '.ts')].filter((file) => !isOfMessages(file))
  const texts = files.flatMap((file) => textsIn(file).map((text) => ({ file, text })))
  expect(texts.length).toBeGreaterThan(1000)
  expect(texts.flatMap(({ file, text }) => told(text, everywhere).map((line) => `${file}: ${line}`))).toEqual(
    [],
  )
})

/** The comments of a file, each as one text. */
const commentsIn = (file: string): string[] =>
  [...textOf(file).matchAll(/^[ \t]*(?:\/\*[\s\S]*?\*\/|(?:\/\/.*\n[ \t]*)+)/gm)].map(([comment]) =>
    comment.replaceAll(/^[ \t]*(?:\/\*\*?|\*\/?|\/\/)/gm, '').replaceAll(/`[^`]*`/g, ''),
  )

it.for(['src', 'schema', 'bench', 'test'])('the comments of %s read like English', (folder) => {
  const comments = filesIn(folder, '.ts').flatMap((file) => commentsIn(file).map((text) => ({ file, text })))
  expect(comments.length).toBeGreaterThan(100)
  expect(
    comments.flatMap(({ file, text }) => told(text, everywhere).map((line) => `${file}: ${line}`)),
  ).toEqual([])
})

/** The titles of the tests and groups of a file. */
const titlesIn = (file: string): string[] =>
  [...textOf(file).matchAll(/^\s*(?:it|test|describe)\b[\w.]*\(\s*(?:'((?:[^'\\]|\\.)*)'|`([^`]*)`)/gm)].map(
    ([, quoted, template]) => quoted ?? template ?? '',
  )

it('the titles of the tests read like English', () => {
  const titles = filesIn('test', '.ts').flatMap((file) => titlesIn(file).map((text) => ({ file, text })))
  expect(titles.length).toBeGreaterThan(1000)
  expect(
    titles.flatMap(({ file, text }) => told(text, everywhere).map((line) => `${file}: ${line}`)),
  ).toEqual([])
})

it('no page is too long to read', () => {
  const most = (page: string): number => (page === 'README.md' ? 150 : 400)
  const long = pages
    .filter((page) => page !== 'CHANGELOG.md')
    .map((page) => ({ page, lines: textOf(page).trimEnd().split('\n').length }))
    .filter(({ page, lines }) => lines > most(page))
  expect(long).toEqual([])
})

it('finds a phrase in a message', () => {
  expect(told('The rows are read\nanew', printed)).toHaveLength(2)
  expect(told('The rows are read again', printed)).toEqual([])
})
