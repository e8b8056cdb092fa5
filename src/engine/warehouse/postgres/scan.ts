import { sql } from 'kysely'
import pg from 'pg'
import type { Tuple, Value } from '../../model/flatten/batch.js'
import type { Column, Table } from '../../model/table.js'
import type { Db } from '../database.js'

const quote = pg.escapeIdentifier

/** The driver would turn numbers into doubles, and JSON into objects. */
const exactly = ({ name, kind }: Column): string =>
  kind === 'number' || kind === 'json' ? `${quote(name)}::text as ${quote(name)}` : quote(name)

/**
 * See Dialect. One query whose rows are fetched bit by bit. Pages, each found by the last key of the previous one,
 * would sort the whole table every time, because the key's index has the order of the database's language.
 */
export async function* scan(
  db: Db,
  schema: string,
  table: Table,
  rowsAtOnce: number,
): AsyncGenerator<readonly Tuple[]> {
  const order = table.key.map((name) => {
    const isText = table.columns.some((column) => column.name === name && column.kind === 'text')
    return isText ? `${quote(name)} collate "C"` : quote(name)
  })
  const from = `${quote(schema)}.${quote(table.name)}`
  const query = `select ${table.columns.map(exactly).join(', ')} from ${from} order by ${order.join(', ')}`
  const run = async <T>(text: string): Promise<T[]> =>
    (await db.executeQuery(sql.raw<T>(text).compile(db))).rows
  // All rows are wanted. By default, a cursor's plan is the one that returns the first tenth soonest.
  await run('set local cursor_tuple_fraction = 1')
  await run(`declare shopsync_scan no scroll cursor for ${query}`)
  try {
    for (;;) {
      const rows = await run<Record<string, Value>>(`fetch ${rowsAtOnce} from shopsync_scan`)
      if (rows.length > 0) yield rows.map((row) => table.columns.map(({ name }) => row[name] ?? null))
      if (rows.length < rowsAtOnce) return
    }
  } finally {
    // A transaction that has failed closes its cursors by itself.
    await run('close shopsync_scan').catch(() => {})
  }
}
