/* sync_meta: what the warehouse remembers under a name. */
import type { CompiledQuery } from 'kysely'
import type { Reader } from './cursors.js'
import type { Db } from './database.js'

/** null if nothing is kept under this name. */
export const readMeta = (warehouse: Reader, name: string): Promise<string | null> =>
  warehouse.read(async (db) => {
    const row = await db.selectFrom('sync_meta').select('value').where('name', '=', name).executeTakeFirst()
    return row?.value ?? null
  })

export const storeMeta = (db: Db, name: string, value: string): CompiledQuery =>
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
