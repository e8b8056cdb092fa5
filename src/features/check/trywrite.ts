/*
 * Tries, for `shopsync check`, everything that a run needs from a warehouse: permissions and room. Everything is rolled
 * back.
 */
import { sql } from 'kysely'
import type { Table } from '../../engine/model/table.js'
import { isEverybodys } from '../../engine/warehouse/classify.js'
import type { Dialect } from '../../engine/warehouse/dialect.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** Pages are about a megabyte each: a disk without room for a few of them is full as far as a run is concerned. */
const tryBytes = 8 * 1024 * 1024

/**
 * Tries every statement of a run on a table: databases check permissions even if no row is affected. `live`: the columns
 * that the table has. An earlier version's key may lack some, which the next run adds.
 */
async function tryTable(
  { db }: Dialect,
  session: Session,
  table: Table,
  live: ReadonlySet<string>,
): Promise<void> {
  const name = table.name as 'tenants'
  const keys = table.key.filter((column) => live.has(column)) as 'tenant_id'[]
  const [key] = keys
  const none = sql<boolean>`1 = 0`
  const rows = db.selectFrom(name).select(keys).where(none)
  if (key) {
    await session.run(db.insertInto(name).columns(keys).expression(rows).compile())
    await session.run(db.updateTable(name).set(key, sql.ref(key)).where(none).compile())
  }
  await session.run(db.deleteFrom(name).where(none).compile())
}

/**
 * Throws the database's error if the warehouse can't be written: a table that can't be created (`creates`) or written,
 * or no room left.
 */
export const tryWrite = (warehouse: Warehouse, how: { readonly creates: boolean }): Promise<void> =>
  warehouse.trying(() => tryAll(warehouse, how))

async function tryAll(
  { dialect, tables }: Warehouse,
  { creates }: { readonly creates: boolean },
): Promise<void> {
  const undo = new Error('undo')
  const found = await dialect.catalog.interferences(tables.map(({ name }) => name))
  // The trouble of a single table is told by itself; without the state tables, no run can begin.
  const barred = new Set(
    found.filter(({ isHarmful, table }) => isHarmful && !isEverybodys(table)).map(({ table }) => table),
  )
  const live = new Map<string, Set<string>>()
  for (const { table, name } of await dialect.catalog.liveColumns())
    live.set(table, (live.get(table) ?? new Set()).add(name))
  try {
    await dialect.transaction(async (session) => {
      if (creates) await dialect.catalog.prepare(session)
      for (const table of tables) {
        const columns = live.get(table.name)
        if (columns && !barred.has(table.name)) await tryTable(dialect, session, table, columns)
      }
      await dialect.catalog.tryRoom(session, { bytes: tryBytes, creates })
      throw undo
    })
  } catch (error) {
    if (error !== undo) throw dialect.classify(error)
  }
}
