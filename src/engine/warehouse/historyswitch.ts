/**
 * Switching the history of a resource on and off (migratecolumns.ts keeps in `sync_columns` which it is). A run does so under
 * its lease before it stores anything: `_seen_from` of a row is true only while every writer has maintained it.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Table } from '../model/table.js'
import { type Db, rootTable } from './database.js'

/** The column whose row in `sync_columns` says that versions are kept. */
export const seenFrom = '_seen_from'

/**
 * On: what is there has been seen when its last request showed it; an earlier beginning would claim what nobody has
 * observed, such as versions that came while the history was off. Off: nobody maintains the column any more, and a value
 * that stays would be wrong with the row's next version.
 */
export const switchHistory = (db: Db, { name }: Table, to: 'history' | 'no history'): CompiledQuery => {
  const since = to === 'history' ? sql.ref('_synced_at') : sql`null`
  return db
    .updateTable(rootTable({ name }))
    .set({ [seenFrom]: since } as never)
    .where(sql<boolean>`${sql.ref(seenFrom)} is distinct from ${since}`)
    .compile()
}
