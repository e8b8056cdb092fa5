/** Where the boxes of the diagram go and how its lines run. This is the only file that uses dagre. */
import dagre from '@dagrejs/dagre'

/** From the referenced table to the referring one. */
export interface Line {
  readonly from: string
  readonly to: string
}

export interface Point {
  readonly x: number
  readonly y: number
}

interface PlacedDiagram {
  readonly width: number
  readonly height: number
  /** The middle of each box. */
  readonly boxes: ReadonlyMap<string, Point>
  /** The points each line passes between the two boxes, in the order of the lines. */
  readonly ways: readonly (readonly Point[])[]
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
export function place(
  boxes: readonly { readonly name: string; readonly width: number; readonly height: number }[],
  lines: readonly Line[],
): PlacedDiagram {
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
