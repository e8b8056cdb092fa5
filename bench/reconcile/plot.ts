/** A plot of requests against records, both logarithmic, as SVG text. */
export interface Line {
  readonly name: string
  readonly colour: string
  readonly points: readonly (readonly [records: number, requests: number])[]
  readonly dashed?: boolean
}

const [width, height] = [860, 520]
const frame = { left: 70, right: 150, top: 50, bottom: 55 }
const range = { x: [3, 7], y: [0, 5] } as const

const x = (records: number): number =>
  frame.left +
  ((Math.log10(records) - range.x[0]) / (range.x[1] - range.x[0])) * (width - frame.left - frame.right)
const y = (requests: number): number =>
  height -
  frame.bottom -
  ((Math.log10(requests) - range.y[0]) / (range.y[1] - range.y[0])) * (height - frame.top - frame.bottom)

const count = (value: number): string => String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',')
const powers = ([from, to]: readonly [number, number]): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i))

function axes(): string[] {
  const vertical = powers(range.x).map(
    (value) =>
      `<line x1="${x(value)}" y1="${y(1)}" x2="${x(value)}" y2="${frame.top}" class="grid"/><text x="${x(value)}" y="${y(1) + 20}" text-anchor="middle">${count(value)}</text>`,
  )
  const horizontal = powers(range.y).map(
    (value) =>
      `<line x1="${frame.left}" y1="${y(value)}" x2="${width - frame.right}" y2="${y(value)}" class="grid"/><text x="${frame.left - 8}" y="${y(value) + 4}" text-anchor="end">${count(value)}</text>`,
  )
  return [...vertical, ...horizontal]
}

function drawn({ name, colour, points, dashed }: Line): string {
  const path = points.map(([records, requests]) => `${x(records).toFixed(1)},${y(requests).toFixed(1)}`)
  const [lastX, lastY] = points.at(-1) ?? [1, 1]
  const style = `fill="none" stroke="${colour}" stroke-width="2"${dashed ? ' stroke-dasharray="6 4"' : ''}`
  const dots = dashed
    ? ''
    : path.map((point) => `<circle cx="${point.replace(',', '" cy="')}" r="3" fill="${colour}"/>`).join('')
  return `<polyline points="${path.join(' ')}" ${style}/>${dots}<text x="${x(lastX) + 8}" y="${y(lastY) + 4}" fill="${colour}">${name}</text>`
}

export function plot(title: string, lines: readonly Line[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">
<style>.grid{stroke:#ddd}text{fill:#333}</style>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${frame.left}" y="26" font-size="16">${title}</text>
${axes().join('\n')}
<text x="${(width - frame.right + frame.left) / 2}" y="${height - 12}" text-anchor="middle">records of one tenant and resource</text>
<text x="${-height / 2}" y="16" text-anchor="middle" transform="rotate(-90)">requests</text>
${lines.map(drawn).join('\n')}
</svg>
`
}
