/*
 * What stands below the flags in the help of a command: its prose, and its examples, fitted to the terminal. Used by
 * program.ts, which every start of the program loads: this file imports nothing that is slow to load.
 */
import type { Command, Example } from './command.js'

const usualColumns = 80
/** Longer lines are hard to read, however wide the terminal is. */
const mostColumns = 110

export const helpColumns = ({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number =>
  Math.min(mostColumns, (isTTY && columns) || usualColumns)

/** Of plain words, which the help is made of: each character is one column wide. */
function filled(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Paragraphs, broken anew for the width. */
export const proseText = (text: string, columns: number): string =>
  text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => filled(paragraph, columns).join('\n'))
    .join('\n\n')

const gap = 3
const indented = '  '

/** What an example does stands beside it, or below it where that is too wide. */
function exampleText([line, says]: Example, beside: number, columns: number): string {
  const head = indented + line
  const room = columns - beside
  if (head.length + gap > beside || room < 20)
    return [head, ...filled(says, columns - 6).map((part) => `      ${part}`)].join('\n')
  const [first = '', ...more] = filled(says, room)
  return [head.padEnd(beside) + first, ...more.map((part) => ' '.repeat(beside) + part)].join('\n')
}

function examplesText(examples: readonly Example[], columns: number): string {
  const lengths = examples.map(([line]) => indented.length + line.length + gap)
  const beside = Math.max(...lengths.filter((length) => length <= columns * 0.6), 0)
  return ['Examples:', ...examples.map((example) => exampleText(example, beside, columns))].join('\n')
}

export const helpText = ({ help, examples }: Pick<Command, 'help' | 'examples'>, columns: number): string =>
  [...(help ? [proseText(help, columns)] : []), examplesText(examples, columns)].join('\n\n')
