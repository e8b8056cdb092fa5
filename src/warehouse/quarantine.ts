import type { CompiledQuery } from 'kysely'
import { type CursorKey, cursorColumns } from './cursors.js'
import type { Dialect } from './dialect.js'

/** Forgets what is in quarantine for one record. */
export const forgetRecord = (db: Dialect['db'], key: CursorKey, recordId: string): CompiledQuery =>
  db
    .deleteFrom('sync_quarantine')
    .where((eb) => eb.and({ ...cursorColumns(key), record_id: recordId }))
    .compile()

/**
 * Forgets records without an id that were last seen before that moment. Their names in quarantine are digests of their
 * content, so that only a walk of the whole list shows which of them still exist.
 */
export const forgetNameless = (db: Dialect['db'], key: CursorKey, before: string): CompiledQuery =>
  db
    .deleteFrom('sync_quarantine')
    .where((eb) => eb.and(cursorColumns(key)))
    .where('record_id', 'like', '?%')
    .where('last_seen_at', '<', before)
    .compile()
