const fields = [
  { name: 'minute', from: 0, to: 59, names: [] },
  { name: 'hour', from: 0, to: 23, names: [] },
  { name: 'day of the month', from: 1, to: 31, names: [] },
  { name: 'month', from: 1, to: 12, names: 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ') },
  { name: 'day of the week', from: 0, to: 7, names: 'sun mon tue wed thu fri sat'.split(' ') },
] as const

/** What is wrong with a five-field cron expression; undefined when nothing is. */
export function cronProblem(expression: string): string | undefined {
  const parts = expression.trim().split(/\s+/)
  if (parts.length !== fields.length) {
    return 'five fields: minute hour day-of-month month day-of-week, such as "0 * * * *"'
  }
  for (const [index, field] of fields.entries()) {
    const part = parts[index] ?? ''
    if (!part.split(',').every((item) => isItem(item, field))) {
      return `a ${field.name} from ${field.from} to ${field.to} instead of "${part}"`
    }
  }
  return undefined
}

function isItem(item: string, field: (typeof fields)[number]): boolean {
  const [range = '', step, ...more] = item.split('/')
  if (more.length > 0 || (step !== undefined && !/^[1-9]\d*$/.test(step))) return false
  if (range === '*') return true
  const ends = range.split('-').map((end) => numberOf(end, field))
  const [low, high = low] = ends
  return ends.length <= 2 && low !== undefined && high !== undefined && low <= high
}

function numberOf(text: string, field: (typeof fields)[number]): number | undefined {
  const names: readonly string[] = field.names
  const named = names.indexOf(text.toLowerCase())
  const value =
    named >= 0 ? named + (field.from === 1 ? 1 : 0) : /^\d+$/.test(text) ? Number(text) : Number.NaN
  return value >= field.from && value <= field.to ? value : undefined
}
