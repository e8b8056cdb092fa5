/*
 * Tries, for `shopsync check`, everything that a run needs from a warehouse: permissions and room. Everything is rolled
 * back.
 */
import { sql } from 'kysely'
import type { Table } from '../model/table.js'
import type { Dialect } from './dialect.js'
import type { Session } from './transaction.js'

/** Pages are about a megabyte each: a disk without room for a few of them is full as far as a run is concerned. */
const tryBytes = 8 * 1024 * 1024

/** Tries every statement of a run on a table: databases check permissions even if no row is affected. */
async function tryTable({ db }: Dialect, session: Session, table: Table): Promise<void> {
  const [name, keys] = [table.name as 'tenants', table.key as 'tenant_id'[]]
  const [key] = keys
  const none = sql<boolean>`1 = 0`
  const rows = db.selectFrom(name).select(keys).where(none)
  await session.run(db.insertInto(name).columns(keys).expression(rows).compile())
  if (key) await session.run(db.updateTable(name).set(key, sql.ref(key)).where(none).compile())
  await session.run(db.deleteFrom(name).where(none).compile())
}

/**
 * Throws the database's error if the warehouse can't be written: a table that can't be created (`creates`) or written,
 * or no room left.
 */
export async function tryWrite(
  dialect: Dialect,
  tables: readonly Table[],
  { creates }: { readonly creates: boolean },
): Promise<void> {
  const undo = new Error('undo')
  const live = new Set((await dialect.liveColumns()).map(({ table }) => table))
  try {
    await dialect.transaction(async (session) => {
      if (creates) await dialect.prepare(session)
      for (const table of tables) if (live.has(table.name)) await tryTable(dialect, session, table)
      await dialect.tryRoom(session, { bytes: tryBytes, creates })
      throw undo
    })
  } catch (error) {
    if (error !== undo) throw dialect.classify(error)
  }
}
