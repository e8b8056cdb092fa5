import type { Kind } from '../../../schema/resource.js'

/** Column types by kind, in both databases: the dialects make columns of them, and the data dictionary shows them. */
export const columnTypes: Readonly<Record<Kind, { readonly postgres: string; readonly sqlite: string }>> = {
  id: { postgres: 'bigint', sqlite: 'INTEGER' },
  integer: { postgres: 'bigint', sqlite: 'INTEGER' },
  cents: { postgres: 'bigint', sqlite: 'INTEGER' },
  number: { postgres: 'numeric', sqlite: 'REAL' },
  boolean: { postgres: 'boolean', sqlite: 'INTEGER' },
  text: { postgres: 'text', sqlite: 'TEXT' },
  timestamp: { postgres: 'timestamptz', sqlite: 'TEXT' },
  json: { postgres: 'jsonb', sqlite: 'TEXT' },
  // Text all the same: clients take the column for one of days, and order and ranges are those of the text.
  day: { postgres: 'date', sqlite: 'DATE' },
}
