/*
 * Where text is shown: a terminal of some width, with or without colors, or a pipe that takes everything as it is. Used
 * wherever text for people is laid out.
 */
import { styleText } from 'node:util'
import { visible } from '../engine/base/escape.js'

/** Why a text stands out; a terminal shows it as a color. */
export type Ink = 'good' | 'odd' | 'bad' | 'faint' | 'title'

export interface Terminal {
  /** Columns of a terminal; Infinity if lines may have any length. */
  readonly columns: number
  readonly colours: boolean
}

/** A pipe or a file: `grep` finds every line whole. */
export const plainTerminal: Terminal = { columns: Number.POSITIVE_INFINITY, colours: false }

const styles = {
  good: 'green',
  odd: 'yellow',
  bad: 'red',
  faint: 'dim',
  title: 'bold',
} as const satisfies Readonly<Record<Ink, string>>

export function painted(terminal: Terminal, ink: Ink | undefined, text: string): string {
  if (!terminal.colours || ink === undefined || text === '') return text
  // Whether there are colors was decided when the terminal was made: Node must not check its own stdout.
  return styleText(styles[ink], text, { validateStream: false })
}

const esc = '\u001B'

/** What `painted` makes, on one line. */
const paint = new RegExp(`(${esc}\\[(?:3[123]|[12])m)([^${esc}\n]*)(${esc}\\[(?:39|22)m)`)

/** Text for a terminal, with no control characters except those of our own colors. */
export const harmless = (terminal: Terminal, text: string): string =>
  terminal.colours
    ? text
        .split(paint)
        .map((part, i) => (i % 4 === 1 || i % 4 === 3 ? part : visible(part)))
        .join('')
    : visible(text)
