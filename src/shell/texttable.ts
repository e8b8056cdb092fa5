/*
 * Tables for people: aligned columns, a rule below the headings, no frame. On a terminal, a table fits the width:
 * titles break first, then the columns that a reader misses least are left out, then cells break. Used by the output of
 * the commands.
 */
import { visible } from '../engine/base/escape.js'
import { type Ink, painted, plainTerminal, type Terminal } from './terminal.js'
import { widthOf, wrapped } from './width.js'

export interface Heading {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** The cells never break: numbers, times and ids stay whole. */
  readonly unbroken?: boolean
  /** For the last column: words longer than it stick out, so paths can be copied. */
  readonly keepWords?: boolean
  /**
   * If the terminal is too narrow, the column with the highest rank is left out first. A column without a rank stays.
   */
  readonly spare?: number
  /** What a cell's color shows. */
  readonly ink?: (cell: string) => Ink | undefined
}

/** The heading of a column of numbers. */
export const right = (title: string, more: Omit<Heading, 'title' | 'align'> = {}): Heading => ({
  ...more,
  title,
  align: 'right',
})

/** The heading of a column of times or ids. */
export const unbroken = (title: string, more: Omit<Heading, 'title' | 'unbroken'> = {}): Heading => ({
  ...more,
  title,
  unbroken: true,
})

const gap = 2
/** Cells of words are never narrower, unless they contain less. */
const leastOfWords = 12
/** Longer words may be broken. */
const longWord = 24

const keepsCells = ({ unbroken: whole, align }: Heading): boolean => whole === true || align === 'right'

interface Column extends Heading {
  readonly at: number
  /** What the cells need to fit on one line each. */
  readonly cells: number
  /** What the title needs in addition to fit on one line. */
  readonly widest: number
  /** The column's minimum width. */
  readonly least: number
}

const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map(widthOf))
const longestWord = (text: string): number => widest(text.split(' '))

function columnsOf(headings: readonly (string | Heading)[], rows: readonly (readonly string[])[]): Column[] {
  return headings.map((given, at) => {
    const heading = typeof given === 'string' ? { title: given } : given
    // A reduce, because a call with an argument for each of 100,000 rows would overflow the stack.
    const most = (of: (cell: string) => number): number =>
      rows.reduce((size, row) => Math.max(size, of(row[at] ?? '')), 0)
    const cells = most(widthOf)
    const words = keepsCells(heading)
      ? cells
      : Math.min(cells, Math.max(leastOfWords, Math.min(most(longestWord), longWord)))
    const least = Math.max(longestWord(heading.title), words)
    return { ...heading, at, cells, least, widest: Math.max(cells, widthOf(heading.title)) }
  })
}

/** If even the minimum is too much, the widest columns of words break longer words, down to the usual minimum. */
function squeezed(columns: readonly Column[], room: number): Column[] {
  const narrow = [...columns]
  while (total(narrow, ({ least }) => least) > room) {
    const canShrink = (column: Column): boolean =>
      !keepsCells(column) &&
      !column.keepWords &&
      column.least > Math.max(leastOfWords, widest(column.title.split(' ')))
    const sizes = narrow.map((column) => (canShrink(column) ? column.least : 0))
    const at = sizes.indexOf(Math.max(...sizes))
    const column = narrow[at]
    if (!column || sizes[at] === 0) break
    narrow[at] = { ...column, least: column.least - 1 }
  }
  return narrow
}

const total = (columns: readonly Column[], of: (column: Column) => number): number =>
  columns.reduce((sum, column) => sum + of(column), gap * Math.max(0, columns.length - 1))

/** Leaves out columns until the others have their minimum. */
function kept(columns: readonly Column[], room: number): Column[] {
  const stay = [...columns]
  while (total(stay, ({ least }) => least) > room) {
    const ranks = stay.map(({ spare = 0 }) => spare)
    const highest = Math.max(...ranks)
    if (highest === 0) break
    stay.splice(ranks.lastIndexOf(highest), 1)
  }
  return stay
}

/**
 * Each column gets its minimum. What is left over goes to the narrowest of those that could use it: first to cells, so
 * they don't need to break, and then to titles.
 */
function widthsOf(columns: readonly Column[], room: number): number[] {
  const widths = columns.map(({ least }) => least)
  let left = room - total(columns, ({ least }) => least)
  for (const wish of ['cells', 'widest'] as const)
    while (left > 0) {
      const growing = columns.flatMap((column, i) => ((widths[i] ?? 0) < column[wish] ? [i] : []))
      const [narrowest] = growing.toSorted((a, b) => (widths[a] ?? 0) - (widths[b] ?? 0))
      if (narrowest === undefined) break
      widths[narrowest] = (widths[narrowest] ?? 0) + 1
      left -= 1
    }
  return widths
}

/** One row of cells, with as many lines as its tallest cell. */
function linesOf(
  cells: readonly string[],
  {
    columns,
    widths,
    terminal,
  }: { readonly columns: readonly Column[]; readonly widths: readonly number[]; readonly terminal: Terminal },
  ink?: Ink,
): string[] {
  const broken = columns.map(({ at, keepWords }, i) => wrapped(cells[at] ?? '', widths[i] ?? 0, keepWords))
  const height = Math.max(...broken.map((lines) => lines.length))
  return Array.from({ length: height }, (_, row) => {
    const parts = columns.map((column, i) => {
      const cell = broken[i]?.[row] ?? ''
      const space = ' '.repeat(Math.max(0, (widths[i] ?? 0) - widthOf(cell)))
      const text = painted(terminal, ink ?? column.ink?.(cells[column.at] ?? ''), cell)
      return column.align === 'right' ? space + text : text + space
    })
    return parts.join(' '.repeat(gap)).trimEnd()
  })
}

/** If no column has a title, the table has no head. */
export function table(
  headings: readonly (string | Heading)[],
  rows: readonly (readonly string[])[],
  terminal: Terminal = plainTerminal,
): string {
  const cells = rows.map((row) => row.map(visible))
  const all = columnsOf(headings, cells)
  const columns = squeezed(kept(all, terminal.columns), terminal.columns)
  const isWide = total(columns, ({ widest: most }) => most) <= terminal.columns
  const widths = isWide ? columns.map(({ widest: most }) => most) : widthsOf(columns, terminal.columns)
  const drawing = { columns, widths, terminal }
  const titles = all.map(({ title }) => title)
  const rule = painted(terminal, 'faint', widths.map((size) => '─'.repeat(size)).join(' '.repeat(gap)))
  const head = titles.every((title) => title === '') ? [] : [...linesOf(titles, drawing, 'title'), rule]
  const missing = all
    .filter((column) => !columns.some(({ at }) => at === column.at))
    .map(({ title }) => title)
  const foot =
    missing.length === 0
      ? []
      : [painted(terminal, 'faint', `(left out at ${terminal.columns} columns: ${missing.join(', ')})`)]
  return [...head, ...cells.flatMap((row) => linesOf(row, drawing)), ...foot].join('\n')
}
