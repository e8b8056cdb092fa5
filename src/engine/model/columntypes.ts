import type { Kind } from '../../../schema/resource.js'

/**
 * Column types by kind, in both databases: the dialects create columns from them, and the data dictionary shows them.
 */
export const columnTypes: Readonly<Record<Kind, { readonly postgres: string; readonly sqlite: string }>> = {
  id: { postgres: 'bigint', sqlite: 'INTEGER' },
  integer: { postgres: 'bigint', sqlite: 'INTEGER' },
  cents: { postgres: 'bigint', sqlite: 'INTEGER' },
  number: { postgres: 'numeric', sqlite: 'REAL' },
  boolean: { postgres: 'boolean', sqlite: 'INTEGER' },
  text: { postgres: 'text', sqlite: 'TEXT' },
  timestamp: { postgres: 'timestamptz', sqlite: 'TEXT' },
  json: { postgres: 'jsonb', sqlite: 'TEXT' },
  // Stored as text all the same. The type tells clients that the column holds dates; text sorts and compares correctly.
  day: { postgres: 'date', sqlite: 'DATE' },
}
