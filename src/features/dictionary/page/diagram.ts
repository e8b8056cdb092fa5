/**
 * The diagram of the data tables as SVG: one box per table with the columns that refer to others, one line per
 * reference.
 */

import { escaped } from '../../../engine/base/escape.js'
import type { DictionaryTable } from '../dictionary.js'
import { namingColumn } from '../joins.js'
import { type Line, type Point, place } from './diagramlayout.js'

/* In pixels, for a monospaced font of 12 and 11 pixels. */
const character = 7.3
const padding = 10
const headHeight = 24
const rowHeight = 16

interface Reference extends Line {
  readonly column: string
}

/** The columns of a box, each once. */
const rowsOf = (name: string, references: readonly Reference[]): string[] =>
  references.filter(({ to }) => to === name).map(({ column }) => column)

const whole = (value: number): number => Math.round(value * 10) / 10

/** A line of curves with level ends; `mark` is the direction in which the crow's foot opens. */
function curve(points: readonly Point[], mark: 1 | -1): string {
  const [first, ...rest] = points
  if (first === undefined) return ''
  let at = first
  let path = `M${whole(first.x)} ${whole(first.y)}`
  for (const next of rest) {
    const middle = whole((at.x + next.x) / 2)
    path += `C${middle} ${whole(at.y)} ${middle} ${whole(next.y)} ${whole(next.x)} ${whole(next.y)}`
    at = next
  }
  const foot = [-4, 4].map((y) => `M${whole(at.x - 8 * mark)} ${whole(at.y)}l${8 * mark} ${y}`).join('')
  return `${path}${foot}M${whole(first.x + 5 * mark)} ${whole(first.y - 4)}v8`
}

/** Each line goes from the right side of the referenced table to the row of the referring column. */
function linePath(
  reference: Reference,
  way: readonly Point[],
  boxOf: (name: string) => { middle: Point; width: number; height: number; rows: readonly string[] },
): string {
  const from = boxOf(reference.from)
  const to = boxOf(reference.to)
  const mark = to.middle.x >= from.middle.x ? 1 : -1
  const row = to.rows.indexOf(reference.column)
  const start = { x: from.middle.x + (mark * from.width) / 2, y: from.middle.y }
  const end = {
    x: to.middle.x - (mark * to.width) / 2,
    y: to.middle.y - to.height / 2 + headHeight + (row + 0.5) * rowHeight,
  }
  return curve([start, ...way, end], mark)
}

function boxMarkup(
  table: DictionaryTable,
  rows: readonly string[],
  { x, y }: Point,
  width: number,
  height: number,
): string {
  const name = escaped(table.name)
  const texts = rows.map(
    (column, i) =>
      `<text class="ref" x="${padding}" y="${headHeight + 12 + i * rowHeight}">${escaped(column)}</text>`,
  )
  return (
    `<a class="box ${table.part}" href="#${name}" data-name="${name}" aria-label="${name}" ` +
    `transform="translate(${whole(x - width / 2)} ${whole(y - height / 2)})"><rect width="${width}" height="${height}" rx="5"/>` +
    `<text x="${padding}" y="16">${name}</text>${texts.join('')}</a>`
  )
}

/** The references that can be drawn: between two tables of the diagram. */
const referencesOf = (tables: readonly DictionaryTable[]): Reference[] => {
  const shown = new Set(tables.map(({ name }) => name))
  return tables.flatMap((table) =>
    table.joins
      .filter((join) => shown.has(join.table) && join.table !== table.name)
      .map((join) => ({ from: join.table, to: table.name, column: namingColumn(join) })),
  )
}

export function diagram(all: readonly DictionaryTable[]): string {
  const linked = new Set(referencesOf(all).flatMap(({ from, to }) => [from, to]))
  const tables = all.filter(({ name }) => linked.has(name))
  const references = referencesOf(tables)
  const boxes = tables.map(({ name }) => {
    const rows = rowsOf(name, references)
    const longest = Math.max(name.length, ...rows.map((row) => row.length))
    const height = headHeight + rows.length * rowHeight + (rows.length > 0 ? 6 : 0)
    return { name, rows, width: Math.ceil(longest * character) + 2 * padding, height }
  })
  const placed = place(boxes, references)
  const byName = new Map(
    boxes.map((box) => [box.name, { ...box, middle: placed.boxes.get(box.name) ?? { x: 0, y: 0 } }]),
  )
  const nowhere = { middle: { x: 0, y: 0 }, width: 0, height: 0, rows: [] }
  const boxOf = (name: string) => byName.get(name) ?? nowhere
  const lines = references.map(
    (reference, i) =>
      `<path class="line" data-from="${escaped(reference.from)}" data-to="${escaped(reference.to)}" d="${linePath(reference, placed.ways[i] ?? [], boxOf)}"/>`,
  )
  const drawn = tables.map((table) => {
    const { rows, middle, width, height } = boxOf(table.name)
    return boxMarkup(table, rows, middle, width, height)
  })
  return (
    `<svg class="diagram" width="${placed.width}" height="${placed.height}" viewBox="0 0 ${placed.width} ${placed.height}" ` +
    `role="group" aria-label="Tables and their references">${lines.join('')}${drawn.join('')}</svg>`
  )
}
