/* The commands in a text for people: those that leave nothing to the reader can be typed as they are. */
import type { Argument, Command } from './command.js'
import { globalOptions } from './program.js'

const bare = (word: string): string => word.replace(/[.,;:)\]`'"]+$/, '')

/** What a message writes for what only the reader knows, or a flag that prose goes on behind. */
const isOpen = (word: string): boolean => /^(|N|ID|I\/N|with)$|…|\$\{|user:password@|[A-Z]{3,}/.test(word)

/** Whether these words are enough: a word of any name can't be told from prose, so it isn't taken for one. */
const isEnough = (words: number, ...wanted: readonly (Argument | undefined)[]): boolean =>
  wanted.slice(words).every((argument) => argument === undefined || argument.isOptional)

/**
 * The words of one command that start at a place of a text: it ends with the first word that is prose. `unknown`: flags that
 * it doesn't have. `isWhole`: nothing is missing, and no word is a name for what only the reader knows, such as ID.
 */
function commandAt({ name, argument, second, options = [], examples }: Command, rest: string) {
  const known = new Map(
    [...globalOptions, ...options].map(({ flags }) => [/--[\w-]+/.exec(flags)?.[0] ?? '', flags]),
  )
  const [words, unknown]: [string[], string[]] = [[name], []]
  const tokens = rest.trimStart().split(/\s+/)
  let given = 0
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] ?? ''
    const word = bare(token)
    const flags = known.get(word)
    if (flags !== undefined) words.push(word, ...(flags.includes('<') ? [bare(tokens[++i] ?? '')] : []))
    else if (word.startsWith('--')) unknown.push(word)
    else if (words.length === 1 && argument?.choices?.includes(word)) given = words.push(word) - 1
    else break
    if (/[.,;:)]$/.test(tokens[i] ?? '')) break
  }
  // Some commands need a flag: then none of their examples has none.
  const isUsual = words.length > 1 || examples.some(([line]) => line === `shopsync ${name}`)
  const isWhole = isUsual && unknown.length === 0 && !words.some(isOpen) && isEnough(given, argument, second)
  return { words, unknown, isWhole }
}

export function commandsIn(commands: readonly Command[], text: string) {
  const byName = new Map(commands.map((command) => [command.name, command]))
  return [...text.matchAll(/\bshopsync ([a-z]+)\b/g)].flatMap(({ index, 0: whole, 1: name = '' }) => {
    const command = byName.get(name)
    return command ? [commandAt(command, text.slice(index + whole.length))] : []
  })
}

/** The lines that a text says to type, each once. */
export const typedLines = (commands: readonly Command[], text: string): string[] => [
  ...new Set(
    commandsIn(commands, text).flatMap(({ words, isWhole }) =>
      isWhole ? [['shopsync', ...words].join(' ')] : [],
    ),
  ),
]
