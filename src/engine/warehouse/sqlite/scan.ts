import type BetterSqlite3 from 'better-sqlite3'
import { exact } from '../../base/int64.js'
import type { Tuple, Value } from '../../model/flatten/batch.js'
import type { Table } from '../../model/table.js'
import { quoted } from '../store/versions.js'

/** See Dialect. The file has one connection here; text sorts by its bytes, and the key's index has that order. */
export async function* scan(
  raw: BetterSqlite3.Database,
  table: Table,
  rowsAtOnce: number,
): AsyncGenerator<readonly Tuple[]> {
  const places = table.key.map((name) => table.columns.findIndex((column) => column.name === name))
  const key = table.key.map(quoted).join(', ')
  const picked = table.columns.map(({ name }) => quoted(name)).join(', ')
  const from = `select ${picked} from ${quoted(table.name)}`
  const order = `order by ${key} limit ${rowsAtOnce}`
  const first = raw.prepare<unknown[], Value[]>(`${from} ${order}`)
  const next = raw.prepare<unknown[], Value[]>(
    `${from} where (${key}) > (${table.key.map(() => '?').join(', ')}) ${order}`,
  )
  const booleans = table.columns.map(({ kind }) => kind === 'boolean')
  let after: readonly unknown[] | undefined
  for (;;) {
    const rows = after ? next.raw(true).all(...after) : first.raw(true).all()
    const last = rows.at(-1)
    after = places.map((place) => last?.[place])
    if (rows.length > 0) yield rows.map((row) => row.map((value, i) => asKind(value, booleans[i] === true)))
    if (rows.length < rowsAtOnce) return
  }
}

/**
 * Booleans are 0 and 1 in the file. A value that the column's kind doesn't expect stays as it is, and the copy reports
 * it.
 */
function asKind(value: Value, isBoolean: boolean): Value {
  const plain = typeof value === 'bigint' ? exact(value) : value
  return isBoolean && (plain === 0 || plain === 1) ? plain === 1 : plain
}
