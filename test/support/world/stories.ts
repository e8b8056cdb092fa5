/**
 * Tests that are stories, in a text file beside their test: titles (`# …`), steps in lines (`350 notes; hide 120; sync`), and
 * below each line, indented, what its steps reported. `npx vitest run FILE -u` writes that; read it. A line with `//` is a
 * comment. `(long)` begins the title of a story that only `npm run test:long` plays.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, it } from 'vitest'
import type { Desk } from '../harness/desk.js'
import { isWhole } from '../harness/size.js'
import { root } from '../harness/tree.js'
import { type Kind, warehouses } from '../harness/warehouse.js'

/**
 * The words of a step, and what they do with what was found in them; a text is what the step reports. N is a number, IDS are
 * some (`1 2 5..9 100..900/9`), WORD is one, TEXT and REST are some; what is in brackets may be missing.
 */
export type WordsOf<S> = Readonly<Record<string, (story: S, ...found: string[]) => unknown>>

const patternOf = (words: string): RegExp =>
  new RegExp(
    `^${words
      .replaceAll(/\[ ([^\]]*)\]/g, '(?: $1)?')
      .replaceAll(/\bN\b/g, '(\\d+)')
      .replaceAll(/\bIDS\b/g, '([\\d ./]*\\d)')
      .replaceAll(/\bWORD\b/g, '([^\\s@]+)')
      .replaceAll(/\bTEXT\b/g, '([^@]+?)')
      .replaceAll(/\bREST\b/g, '(.*)')}$`,
  )

/** What the program says, in one line, without where and when. */
export const anywhere = (text: string): string =>
  text
    .replaceAll(/^{"level":"info".*$/gm, '')
    .replaceAll(/(sqlite:\S+?\.db|postgres:\/\/[\w.:@]+\/\w+)( \(schema \w+\))?/g, 'WAREHOUSE')
    .replaceAll(/\/\S*\/(?=[\w.]+\.(json|jsonl|db)\b)/g, '')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC)/g, 'NOW')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** A story of what somebody types at a desk: what the last command said. */
export interface AtDesk {
  desk: Desk
  said: string
}

export const deskWords: WordsOf<AtDesk> = {
  '\\$ REST': async (story, command) => {
    const { code, stdout, stderr } = await story.desk.run(command!)
    story.said = stdout + stderr
    return code === 0 ? undefined : anywhere(`exit ${code} ${code === 2 ? stderr : ''}`)
  },
  'says REST': ({ said }, text) => {
    const lines = said.split('\n').filter((line) => line.includes(text!))
    // Of the log, the message and what it is about.
    const told = lines.map((line) => anywhere(line.replace(/^{"level":"\w+","time":"[^"]*",/, '')))
    return told.join('\n') || 'nothing of it'
  },
}

export class Steps<S> {
  readonly #known: readonly (readonly [RegExp, WordsOf<S>[string]])[]

  /** `between`: two steps of a line. */
  constructor(
    words: WordsOf<S>,
    private readonly between = '; ',
  ) {
    this.#known = Object.entries(words).map(([text, act]) => [patternOf(text), act])
  }

  async one(story: S, text: string): Promise<unknown> {
    for (const [pattern, act] of this.#known) {
      const found = pattern.exec(text)
      if (found) return await act(story, ...(found.slice(1) as string[]))
    }
    throw new Error(`No words for the step: ${text}`)
  }

  /** The lines as they would be if they were written now. */
  async play(story: S, lines: readonly string[]): Promise<string[]> {
    const played: string[] = []
    for (const line of lines) {
      if (line.startsWith('  ')) continue
      played.push(line)
      if (line.startsWith('//')) continue
      for (const step of line.split(this.between)) {
        const told = await this.one(story, step)
        if (typeof told === 'string') played.push(...told.split('\n').map((one) => `  ${one}`))
      }
    }
    return played
  }
}

/** `1 2 5..9 100..900/9`: the last are each ninth. */
export const idsOf = (text: string): number[] =>
  text.split(' ').flatMap((word) => {
    const [, from, to = from, step = '1'] = /^(\d+)(?:\.\.(\d+))?(?:\/(\d+))?$/.exec(word)!
    return Array.from({ length: (Number(to) - Number(from)) / Number(step) + 1 }, (_, i) =>
      Math.floor(Number(from) + i * Number(step)),
    )
  })

export const jsonOr = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
/** `most=50 pages=asked floor` */
export const fieldsOf = (words: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    words.map((word) => {
      const [name = '', ...value] = word.split('=')
      return [name, value.length === 0 ? true : jsonOr(value.join('='))]
    }),
  )
export const wordsOf = (text: string): string[] => text.split(' ').filter((word) => word !== '')
export const actionOf = (text: string): object => {
  const [kind, ...fields] = wordsOf(text)
  return { kind, ...fieldsOf(fields) }
}

/** With the fields in one order, whatever the database stored. */
export const plain = (value: unknown): string =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.entries(value)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, inner]) => `${name}: ${plain(inner)}`)
        .join(', ')
        .replace(/.*/, '{$&}')
    : Array.isArray(value)
      ? `[${value.map(plain).join(', ')}]`
      : String(value)

/** Those that aren't 0, `3 deleted`. */
export const amounts = (counts: Record<string, unknown>): string[] =>
  Object.entries(counts).flatMap(([name, n]) => (n === 0 || n === undefined ? [] : `${n} ${name}`))

interface Story {
  readonly title: string
  /** Steps, and what they reported. */
  readonly lines: readonly string[]
}

const isLong = ({ title }: Story): boolean => title.startsWith('(long)')

/** The file's introduction, and its stories. */
function storiesOf(text: string): { readonly about: string; readonly all: readonly Story[] } {
  const [about = '', ...rest] = text.split(/^# /m)
  const all = rest.map((story) => {
    const [title = '', ...lines] = story.trimEnd().split('\n')
    return { title, lines: lines.filter((line) => line !== '') }
  })
  return { about, all }
}

/** Each story is a test; `begin` makes what its steps act on. */
export function storiesAsTests<S>(file: string, steps: Steps<S>, begin: () => S | Promise<S>): void {
  const path = join(root, file)
  const { about, all } = storiesOf(readFileSync(path, 'utf8'))
  const written = new Map<Story, readonly string[]>()
  const chosen = all.filter((story) => isWhole() || !isLong(story))
  // With `$title`, a test's name would be cut short, and promises would not find it.
  it.each(chosen.map((story) => [story.title, story] as const))('%s', async (_title, story) => {
    const played = await steps.play(await begin(), story.lines)
    written.set(story, played)
    if (!inject('rewrites')) expect(played).toEqual(story.lines)
  })
  afterAll(() => {
    if (!inject('rewrites')) return
    const now = all.map((story) => {
      const lines = [`# ${story.title}`, ...(written.get(story) ?? story.lines)]
      return `${lines.join('\n')}\n`
    })
    writeFileSync(path, `${about}${now.join('\n')}`)
  })
}

/** The same on every kind of warehouse that is asked for. `on` makes what all of them share. */
export function storyTests<S>(
  file: string,
  steps: Steps<S>,
  on: (kind: Kind) => () => S | Promise<S>,
  kinds = warehouses(),
): void {
  describe.each(kinds)('$name', (kind) => storiesAsTests(file, steps, on(kind)))
}
