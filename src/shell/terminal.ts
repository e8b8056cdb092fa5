/*
 * What text is written on: a terminal of some width, with colours or without, or a pipe that takes everything as it is.
 * Used wherever text for people is laid out.
 */
import { visible } from '../engine/base/escape.js'

/** Why a text stands out; a terminal shows it by a colour. */
export type Ink = 'good' | 'odd' | 'bad' | 'faint' | 'title'

export interface Paper {
  /** Columns of a terminal; Infinity where lines may be of any length. */
  readonly columns: number
  readonly colours: boolean
}

/** A pipe or a file: `grep` finds every line whole. */
export const plainPaper: Paper = { columns: Number.POSITIVE_INFINITY, colours: false }

const esc = '\u001B'

const codes: Readonly<Record<Ink, readonly [number, number]>> = {
  good: [32, 39],
  odd: [33, 39],
  bad: [31, 39],
  faint: [2, 22],
  title: [1, 22],
}

export function painted(paper: Paper, ink: Ink | undefined, text: string): string {
  if (!paper.colours || ink === undefined || text === '') return text
  const [begin, end] = codes[ink]
  return `${esc}[${begin}m${text}${esc}[${end}m`
}

/** What `painted` makes, on one line. */
const paint = new RegExp(`(${esc}\\[(?:3[123]|[12])m)([^${esc}\n]*)(${esc}\\[(?:39|22)m)`)

/** Text for a terminal, with no other control characters than those of our own colours. */
export const harmless = (paper: Paper, text: string): string =>
  paper.colours
    ? text
        .split(paint)
        .map((part, i) => (i % 4 === 1 || i % 4 === 3 ? part : visible(part)))
        .join('')
    : visible(text)
