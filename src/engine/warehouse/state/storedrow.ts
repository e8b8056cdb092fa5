import type { StateTable } from '../../model/statetable.js'
import { readJson } from '../database.js'

/** A row of a state table, with JSON read. Columns that a warehouse of an older version lacks are null. */
export function storedRow<R extends object>(
  { fields }: StateTable,
  found: object,
  columns: readonly string[] = Object.keys(fields),
): R {
  const row: Record<string, unknown> = { ...found }
  for (const name of columns) {
    const value = row[name] ?? null
    row[name] = value !== null && fields[name]?.kind === 'json' ? readJson(value) : value
  }
  return row as R
}
