/*
 * How many columns a text takes on a terminal, and how it breaks into lines: used by tables, and by the last step of
 * every text for people (call.ts passes it to the output).
 */
import stringWidth from 'string-width'
import { type Ink, painted, type Terminal } from './terminal.js'

/** Columns that a text takes: a Chinese character takes two, and so does an emoji, however many code points it has. */
export const widthOf = (text: string): number => stringWidth(text)

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The part of a text that fits, in whole characters. At least one, so every loop over the rest ends. */
export function headOf(text: string, columns: number): string {
  let head = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment)
    if (head !== '' && width > columns) break
    head += segment
  }
  return head
}

/**
 * The text in lines of at most this many columns, broken between words. Words longer than a line are broken too. With
 * `keepWords` they stick out and the terminal breaks them, so a path can still be copied in one piece.
 */
export function wrapped(text: string, columns: number, keepWords = false): string[] {
  if (widthOf(text) <= columns) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= columns) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    let rest = word
    while (!keepWords && widthOf(rest) > columns) {
      const head = headOf(rest, columns)
      lines.push(head)
      rest = rest.slice(head.length)
    }
    line = rest
  }
  return line === '' ? lines : [...lines, line]
}

/** The text cut to fit, with a sign that something is missing. */
export const shortened = (text: string, columns: number): string =>
  widthOf(text) <= columns ? text : `${headOf(text, columns - 1)}…`

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
