import type { ColumnKind } from './dictionary.js'

/** What columns of a kind are counted in, where the kind says it. */
const byKind: Partial<Record<ColumnKind, string>> = {
  cents: 'cents',
  timestamp: 'UTC instant',
  day: 'shop day',
  hours: 'hours',
}

/** What numbers are counted in, by their names: the API's own, and those of derived tables and views. */
const byName: readonly (readonly [RegExp, string])[] = [
  [/(^|_)hours$/, 'hours'],
  [/(^|_)minutes(_|$)/, 'minutes'],
  [/_ms$/, 'milliseconds'],
  [/_us$/, 'microseconds'],
  [/(^|_)(percent|percentage)$|_tax_rate$/, 'percent'],
  [/(^|_)quantity(_|$)|^(min|max)_stock$/, 'units'],
  [/^days$/, 'days'],
]

/** What a column is counted in; empty where its values count nothing, such as ids and texts. */
export function unitOf(name: string, kind: ColumnKind): string {
  const fixed = byKind[kind]
  if (fixed !== undefined) return fixed
  if (kind !== 'number' && kind !== 'integer') return ''
  return byName.find(([ending]) => ending.test(name))?.[1] ?? ''
}
