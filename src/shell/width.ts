/*
 * How many columns a text takes on a terminal, and how it breaks into lines. Used by tables and by the layout of texts.
 */
import stringWidth from 'string-width'

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
