/*
 * The last step for every text on its way to a terminal: lines that are too long break between words, and the marks for
 * good, odd or bad get their colors. Used by call.ts, which passes it to the output.
 */
import { type Ink, painted, type Terminal } from './terminal.js'
import { widthOf, wrapped } from './width.js'

const inks: Readonly<Record<string, Ink>> = { '✓': 'good', '!': 'odd', '✗': 'bad' }

/** The mark at the beginning of a line. If the line breaks, the rest is aligned with the text after the mark. */
const beginning = /^( *)(?:([✓!✗→…]|\d+\.) )?/

function lineOn(terminal: Terminal, line: string): string {
  const [head = '', , mark = ''] = beginning.exec(line) ?? []
  const ink = inks[mark]
  const paint = (text: string): string =>
    ink === undefined ? text : text.replace(mark, painted(terminal, ink, mark))
  if (widthOf(line) <= terminal.columns) return paint(line)
  const inner = ' '.repeat(Math.min(widthOf(head), Math.floor(terminal.columns / 2)))
  const lines = wrapped(line.slice(head.length), Math.max(1, terminal.columns - inner.length), true)
  return lines.map((part, i) => ((i === 0 ? paint(head) : inner) + part).trimEnd()).join('\n')
}

/** The text in the form that fits the terminal best. */
export const layOut = (terminal: Terminal, text: string): string =>
  text
    .split('\n')
    .map((line) => lineOn(terminal, line))
    .join('\n')
