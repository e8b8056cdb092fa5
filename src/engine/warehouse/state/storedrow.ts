import type { StateTable } from '../../model/statetable.js'
import { readJson } from '../database.js'

/**
 * A row of a state table as a query found it, with JSON read. Columns that a warehouse of an older version lacks are null.
 * The row itself is changed: status reads many thousands.
 */
export function storedRow<R extends object>(
  { fields }: StateTable,
  found: object,
  columns: readonly string[] = Object.keys(fields),
): R {
  const row = found as Record<string, unknown>
  for (const name of columns) {
    const value = row[name] ?? null
    row[name] = value !== null && fields[name]?.kind === 'json' ? readJson(value) : value
  }
  return row as R
}
