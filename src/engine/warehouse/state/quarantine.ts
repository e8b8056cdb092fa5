import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { inParts } from '../../base/parts.js'
import type { Shard } from '../../base/shard.js'
import type { QuarantineEntry } from '../../model/flatten/batch.js'
import { compiledOnce, type Db, type Reader } from '../database.js'
import type { BatchStamp } from '../store/versionbatch.js'
import { type CursorKey, cursorColumns, rowName } from './cursors.js'
import { isOfShard } from './shardsql.js'

/** The statements that record a batch's quarantine entries. A page may show a record twice; the last entry counts. */
export function quarantineStatements(
  db: Db,
  batch: BatchStamp & { readonly resource: string },
  entries: readonly QuarantineEntry[],
): CompiledQuery[] {
  const unique = [...new Map(entries.map((entry) => [`${entry.recordId} ${entry.path}`, entry])).values()]
  return [...inParts(unique)].map((part) => quarantineStatement(db, batch, part))
}

function quarantineStatement(
  db: Db,
  { tenantId, resource, syncedAt }: BatchStamp & { readonly resource: string },
  entries: readonly QuarantineEntry[],
): CompiledQuery {
  const rows = entries.map(({ recordId, path, value, reason }) => ({
    tenant_id: tenantId,
    resource,
    record_id: recordId,
    path,
    value,
    reason,
    first_seen_at: syncedAt,
    last_seen_at: syncedAt,
  }))
  return db
    .insertInto('sync_quarantine')
    .values(rows)
    .onConflict((c) =>
      c.columns(['tenant_id', 'resource', 'record_id', 'path']).doUpdateSet((eb) => ({
        value: eb.ref('excluded.value'),
        reason: eb.ref('excluded.reason'),
        last_seen_at: eb.ref('excluded.last_seen_at'),
      })),
    )
    .compile()
}

/** Forgets what is in quarantine for one record. */
export const forgetRecord = (db: Db, key: CursorKey, recordId: string): CompiledQuery =>
  db
    .deleteFrom('sync_quarantine')
    .where((eb) => eb.and({ ...cursorColumns(key), record_id: recordId }))
    .compile()

/**
 * Forgets records without an id that were last seen before that moment. Their names in quarantine are digests of their
 * content, so only a walk of the whole list shows which of them still exist.
 */
export const forgetNameless = (db: Db, key: CursorKey, before: string): CompiledQuery =>
  compiledOnce(db, 'forgetNameless', { ...cursorColumns(key), before }, (values) =>
    db
      .deleteFrom('sync_quarantine')
      .where('tenant_id', '=', values.tenant_id)
      .where('resource', '=', values.resource)
      .where('record_id', 'like', '?%')
      .where('last_seen_at', '<', values.before),
  )

/** For a list, forgets what is in quarantine and hasn't been seen since that moment, with or without a tenant. */
export const forgetUnseen = (db: Db, resource: string, before: string): CompiledQuery =>
  db
    .deleteFrom('sync_quarantine')
    .where((eb) =>
      eb.or([eb('tenant_id', '=', 0), eb('tenant_id', 'in', eb.selectFrom('tenants').select('tenant_id'))]),
    )
    .where('resource', '=', resource)
    .where('last_seen_at', '<', before)
    .compile()

/**
 * How many values, items and records in quarantine were seen since a moment, by cursor. A value that several responses
 * showed is one entry; counting per response would count it several times.
 */
export async function quarantinedSince(
  warehouse: Reader,
  since: string,
  shard?: Shard,
): Promise<ReadonlyMap<string, number>> {
  const rows = await warehouse.read((db) =>
    db
      .selectFrom('sync_quarantine')
      .select((eb) => ['tenant_id', 'resource', eb.fn.countAll<Int64>().as('n')])
      .where('last_seen_at', '>=', since)
      .where(isOfShard(sql.ref('tenant_id'), shard))
      .groupBy(['tenant_id', 'resource'])
      .execute(),
  )
  return new Map(rows.map((row) => [rowName(row), Number(row.n)]))
}

/** How many values of one cursor are in quarantine. Those of whole records, which have no path, aren't counted. */
export async function countQuarantined(warehouse: Reader, key: CursorKey): Promise<number> {
  const [counted] = await warehouse.read((db) =>
    db
      .selectFrom('sync_quarantine')
      .select((eb) => eb.fn.countAll<Int64>().as('n'))
      .where((eb) => eb.and(cursorColumns(key)))
      .where('path', '<>', '')
      .execute(),
  )
  return Number(counted?.n ?? 0)
}
