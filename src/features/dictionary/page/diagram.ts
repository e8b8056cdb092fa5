/**
 * The diagram of the data tables as SVG: one box per table with the columns that refer to others, one line per
 * reference.
 */

import dagre from '@dagrejs/dagre'
import { escaped } from '../../../engine/base/escape.js'
import type { DictionaryTable } from '../dictionary.js'
import { namingColumn } from '../joins.js'

/** From the referenced table to the referring one. */
interface Line {
  readonly from: string
  readonly to: string
}

interface Point {
  readonly x: number
  readonly y: number
}

/**
 * The points at which a line passes a column of boxes, level over the width of the boxes. dagre's other points, at the
 * ends and between two columns, would bend the line where nothing is in its way.
 */
function around(points: readonly Point[], widthAt: (x: number) => number | undefined): Point[] {
  // With circular references, one of the lines runs from right to left.
  const onward = (points.at(-1)?.x ?? 0) >= (points[0]?.x ?? 0) ? 1 : -1
  return points.slice(1, -1).flatMap(({ x, y }) => {
    const half = ((widthAt(x) ?? 0) * onward) / 2
    return half === 0
      ? []
      : [
          { x: x - half, y },
          { x: x + half, y },
        ]
  })
}

/** From left to right: a referenced table is left of those that refer to it. */
function place(
  boxes: readonly { readonly name: string; readonly width: number; readonly height: number }[],
  lines: readonly Line[],
): {
  readonly width: number
  readonly height: number
  /** The middle of each box. */
  readonly boxes: ReadonlyMap<string, Point>
  /** The points each line passes between the two boxes, in the order of the lines. */
  readonly ways: readonly (readonly Point[])[]
} {
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 14, edgesep: 8, ranksep: 62, marginx: 8, marginy: 8 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { name, width, height } of boxes) graph.setNode(name, { width, height })
  lines.forEach(({ from, to }, i) => void graph.setEdge(from, to, {}, String(i)))
  dagre.layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  const widest = new Map<number, number>()
  for (const box of boxes) {
    const column = Math.round(graph.node(box.name).x)
    widest.set(column, Math.max(box.width, widest.get(column) ?? 0))
  }
  return {
    width: Math.ceil(width),
    height: Math.ceil(height),
    boxes: new Map(
      boxes.map(({ name }) => {
        const { x, y } = graph.node(name)
        return [name, { x, y }]
      }),
    ),
    ways: lines.map(({ from, to }, i) => {
      const points = graph.edge({ v: from, w: to, name: String(i) }).points ?? []
      return around(points, (x) => widest.get(Math.round(x)))
    }),
  }
}

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
