import { sql } from 'kysely'
import type { Tuple, Value } from '../../model/flatten/batch.js'
import type { Table } from '../../model/tables.js'
import { type Db, rootTable } from '../database.js'

/** See Dialect. Text is ordered by its bytes here, and the key's index has that order. */
export async function* scan(db: Db, table: Table, rowsAtOnce: number): AsyncGenerator<readonly Tuple[]> {
  const places = table.key.map((name) => table.columns.findIndex((column) => column.name === name))
  const key = sql.join(table.key.map((name) => sql.ref(name)))
  let after: readonly (Value | undefined)[] | undefined
  for (;;) {
    const query = db
      .selectFrom(rootTable(table))
      .select(table.columns.map(({ name }) => sql<Value>`${sql.ref(name)}`.as(name)))
      .orderBy(key)
      .limit(rowsAtOnce)
    const rows = await (after ? query.where(sql<boolean>`(${key}) > (${sql.join(after)})`) : query).execute()
    const tuples = rows.map((row) => table.columns.map(({ name, kind }) => asKind(row[name] ?? null, kind)))
    if (tuples.length > 0) yield tuples
    if (tuples.length < rowsAtOnce) return
    const last = tuples.at(-1)
    after = places.map((place) => last?.[place])
  }
}

/** Booleans are 0 and 1 in the file; what is neither stays as it is. */
const asKind = (value: Value, kind: string): Value =>
  kind === 'boolean' && (value === 0 || value === 1) ? value === 1 : value
