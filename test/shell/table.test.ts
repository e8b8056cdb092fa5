/** Tables and texts fitted to a width: what breaks, what is left out, what is aligned below what. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Heading,
  layOut,
  right,
  type Terminal,
  table,
  unbroken,
  widthOf,
  wrapped,
} from '../support/harness/shown.js'

const wide = (columns: number): Terminal => ({ columns, colours: false })

const headings = [
  unbroken('job'),
  'what it does',
  right('rows'),
  unbroken('started (UTC)', { spare: 1 }),
  right('requests', { spare: 2 }),
]
const rows = [
  ['hourly', 'brings what is new from every tenant', '12', '2026-11-22 14:47', '1,000'],
  ['夜間', '東京 と 大阪 🚗', '3,456', '2026-11-22 02:30', '7'],
]

test('a table breaks titles first, leaves out what is spare, and breaks words last', () => {
  expect(table(headings, rows, wide(50))).toBe(
    [
      'job     what it does        rows  started (UTC)',
      '──────  ─────────────────  ─────  ────────────────',
      'hourly  brings what is        12  2026-11-22 14:47',
      '        new from every',
      '        tenant',
      '夜間    東京 と 大阪 🚗    3,456  2026-11-22 02:30',
      '(left out at 50 columns: requests)',
    ].join('\n'),
  )
})

test('colors mark titles and cells, and take no space', () => {
  const state: Heading = { title: 'state', ink: (cell) => (cell === 'ok' ? 'good' : 'bad') }
  const drawn = table(['of', state], [['a', 'ok']], { columns: 80, colours: true })
  expect(drawn).toBe(
    '\u001B[1mof\u001B[22m  \u001B[1mstate\u001B[22m\n\u001B[2m──  ─────\u001B[22m\na   \u001B[32mok\u001B[39m',
  )
})

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 30, unit: fc.constantFrom(...'abcdefg_/') }),
  fc.constantFrom('東京自動車整備', '👩🏽‍🔧', '🇯🇵', 'e\u0301', '１２３'),
)
const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(' '))
const grid = fc
  .integer({ min: 1, max: 5 })
  .chain((columns) => fc.array(fc.array(text, { minLength: columns, maxLength: columns }), { maxLength: 6 }))

type Draw = typeof table

/** A table that only has words is at most as wide as the terminal and contains everything, whatever is in it. */
const fits = (draw: Draw) =>
  fc.property(grid, fc.integer({ min: 90, max: 140 }), (cells, columns) => {
    const titles = (cells[0] ?? ['title']).map((_, i) => `title ${i}`)
    const drawn = draw(titles, cells, wide(columns))
    const said = (all: string): string => [...all.replaceAll(/[\s─]/g, '')].toSorted().join('')
    return (
      drawn.split('\n').every((line) => widthOf(line) <= columns) &&
      said(drawn) === said([...titles, ...cells.flat()].join(''))
    )
  })

test('every table fits and contains everything', () => {
  fc.assert(fits(table), { numRuns: 60 })
})

test.each<[string, Draw]>([
  ['does not break', (titles, cells) => table(titles, cells)],
  ['cuts', (titles, cells, terminal) => cut(table(titles, cells), terminal?.columns ?? 0)],
])('a table that %s does not', (_, draw) => {
  expect(fc.check(fits(draw), { numRuns: 500, endOnFailure: true }).failed).toBe(true)
})

const cut = (drawn: string, columns: number): string =>
  drawn
    .split('\n')
    .map((line) => (widthOf(line) > columns ? `${line.slice(0, columns - 1)}…` : line))
    .join('\n')

test('long lines break between words, and continue aligned with the words after a mark', () => {
  expect(layOut(wide(30), '  ✗ tenant 7, notes: the request answered 403, expected 200')).toBe(
    '  ✗ tenant 7, notes: the\n    request answered 403,\n    expected 200',
  )
  expect(layOut({ columns: 30, colours: true }, '✗ bad\n! odd\n✓ good')).toBe(
    '\u001B[31m✗\u001B[39m bad\n\u001B[33m!\u001B[39m odd\n\u001B[32m✓\u001B[39m good',
  )
  expect(wrapped('a'.repeat(25), 10)).toEqual(['a'.repeat(10), 'a'.repeat(10), 'a'.repeat(5)])
})
