/** Tables of a text whose cells have got other widths, drawn anew: a run's number and `<moment>` are always as wide. */
const rule = /^─+(?: {2,}─+)*$/

interface Column {
  readonly from: number
  /** Where its rule ends. */
  readonly end: number
  /** Where the next one begins. */
  readonly to: number
}

function columnsOf(line: string): readonly Column[] {
  const rules = [...line.matchAll(/─+/g)]
  return rules.map(({ index, 0: { length } }, i) => ({
    from: index,
    end: index + length,
    to: rules[i + 1]?.index ?? Number.POSITIVE_INFINITY,
  }))
}

/** Whether a line is one of the table's: between two columns it has nothing. */
const isRow = (line: string, columns: readonly Column[]): boolean =>
  line.trim() !== '' &&
  columns.every(({ end, to }) => to === Number.POSITIVE_INFINITY || line.slice(end, to).trim() === '')

/** Right where every cell ends with the column and not every one begins there. */
function isRight(cells: readonly string[]): boolean {
  const inner = cells.filter((cell) => cell.trim() !== '')
  return inner.some((cell) => cell.startsWith(' '))
}

function draw(
  lines: readonly string[],
  columns: readonly Column[],
  told: (text: string) => string,
): string[] {
  const drawn = columns.map(({ from, to }) => {
    const cut = lines.map((line) => line.slice(from, to))
    const cells = cut.map((cell) => told(cell.trim()))
    // Whether durations are as wide as their title depends on how long they are.
    const right = cells.includes('<duration>') || isRight(cut)
    const width = Math.max(...cells.map((cell) => (rule.test(cell) ? 0 : cell.length)))
    const sized = cells.map((cell) => (rule.test(cell) ? '─'.repeat(width) : cell))
    return sized.map((cell) => (right ? cell.padStart(width) : cell.padEnd(width)))
  })
  return lines.map((_, i) =>
    drawn
      .map((cells) => cells[i])
      .join('  ')
      .trimEnd(),
  )
}

/** The text as `told` tells its lines and the cells of its tables. */
export function retold(text: string, told: (text: string) => string): string {
  const lines = text.split('\n')
  const found: string[] = []
  for (let i = 0; i < lines.length; i += 1) {
    const indent = /^ */.exec(lines[i + 1] ?? '')?.[0] ?? ''
    const columns = columnsOf((lines[i + 1] ?? '').slice(indent.length))
    if (columns.length < 2 || !rule.test((lines[i + 1] ?? '').trim())) {
      found.push(told(lines[i] ?? ''))
      continue
    }
    const below = lines.slice(i).map((line) => line.slice(indent.length))
    const end = below.findIndex((line) => !isRow(line, columns))
    const rows = end < 0 ? below : below.slice(0, end)
    found.push(...draw(rows, columns, told).map((line) => `${indent}${line}`))
    i += rows.length - 1
  }
  return found.join('\n')
}
