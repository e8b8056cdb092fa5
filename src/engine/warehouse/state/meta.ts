/* sync_meta: what the warehouse remembers under a name. No other file's statements read or write it. */
import type { CompiledQuery } from 'kysely'
import type { Db, Reader } from '../database.js'
import type { Session } from '../transaction.js'

/** What is kept under a name, for a transaction or as a part of another statement. */
export const metaQuery = (db: Db, name: string) =>
  db.selectFrom('sync_meta').select('value').where('name', '=', name)

/** What is kept under these names; by default, all of it. */
export const allMeta = (db: Db, names?: readonly string[]) =>
  db
    .selectFrom('sync_meta')
    .select(['name', 'value'])
    .$if(names !== undefined, (all) => all.where('name', 'in', names ?? []))
    .orderBy('name')

/** null if nothing is kept under this name. */
export const readMeta = (warehouse: Reader, name: string): Promise<string | null> =>
  warehouse.read(async (db) => (await metaQuery(db, name).executeTakeFirst())?.value ?? null)

/**
 * The same within a transaction, and locked until it ends: of two that change what is kept, the second one sees what the
 * first has stored. The row is made if there is none, because one that isn't there can't be locked.
 */
export async function lockMeta(session: Session, db: Db, name: string): Promise<string | null> {
  const insert = db.insertInto('sync_meta').values({ name, value: null })
  await session.run(insert.onConflict((c) => c.doNothing()).compile())
  // Changes nothing, but locks the row.
  await session.run(db.updateTable('sync_meta').set({ name }).where('name', '=', name).compile())
  return (await session.run(metaQuery(db, name).compile())).rows[0]?.value ?? null
}

export const storeMeta = (db: Db, name: string, value: string | null): CompiledQuery =>
  db
    .insertInto('sync_meta')
    .values({ name, value })
    .onConflict((c) => c.column('name').doUpdateSet({ value }))
    .compile()

/** The same, unless what is stored is an instant in that range. Affects no row then. */
export const storeMetaUnless = (
  db: Db,
  { name, value }: { readonly name: string; readonly value: string },
  { from, until }: { readonly from: string; readonly until: string },
): CompiledQuery =>
  db
    .insertInto('sync_meta')
    .values({ name, value })
    .onConflict((c) =>
      c
        .column('name')
        .doUpdateSet({ value })
        .where((eb) => eb.or([eb('sync_meta.value', '<', from), eb('sync_meta.value', '>', until)])),
    )
    .compile()

export const removeMeta = (db: Db, name: string): CompiledQuery =>
  db.deleteFrom('sync_meta').where('name', '=', name).compile()
