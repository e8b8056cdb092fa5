/*
 * The last step of every text on its way to a terminal: lines that are too long break between words, and the marks of
 * what is well, odd or bad get their colours. Used by output.ts.
 */
import { type Ink, type Paper, painted } from './terminal.js'
import { widthOf, wrapped } from './width.js'

const inks: Readonly<Record<string, Ink>> = { '✓': 'good', '!': 'odd', '✗': 'bad' }

/** The mark at the beginning of a line; what follows it stands below it where the line breaks. */
const beginning = /^( *)(?:([✓!✗→…]|\d+\.) )?/

function lineOn(paper: Paper, line: string): string {
  const [head = '', , mark = ''] = beginning.exec(line) ?? []
  const ink = inks[mark]
  const paint = (text: string): string =>
    ink === undefined ? text : text.replace(mark, painted(paper, ink, mark))
  if (widthOf(line) <= paper.columns) return paint(line)
  const inner = ' '.repeat(Math.min(widthOf(head), Math.floor(paper.columns / 2)))
  const lines = wrapped(line.slice(head.length), Math.max(1, paper.columns - inner.length), true)
  return lines.map((part, i) => ((i === 0 ? paint(head) : inner) + part).trimEnd()).join('\n')
}

/** The text as the paper shows it best. */
export const layOut = (paper: Paper, text: string): string =>
  text
    .split('\n')
    .map((line) => lineOn(paper, line))
    .join('\n')
