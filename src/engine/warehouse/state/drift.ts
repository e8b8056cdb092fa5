import type { CompiledQuery } from 'kysely'
import type { DriftEntry } from '../../model/flatten/batch.js'
import type { Db } from '../database.js'
import type { BatchStamp } from '../store/versionbatch.js'
import type { Session } from '../transaction.js'

/** Identifies an entry: the key of `sync_drift`. */
export const driftName = ({ resource, path, kind, detail }: DriftEntry): string =>
  [resource, path, kind, detail].join('\n')

/** Records the drift that one response showed. Returns the entries that no run has recorded before. */
export async function writeDrift(
  db: Db,
  session: Pick<Session, 'run'>,
  { tenantId, syncedAt }: BatchStamp,
  drift: readonly DriftEntry[],
): Promise<DriftEntry[]> {
  const fresh: DriftEntry[] = []
  // The same order everywhere: two transactions that record the same entries must not deadlock.
  const entries = drift.toSorted((a, b) => (driftName(a) < driftName(b) ? -1 : 1))
  for (const entry of entries) {
    const stamps = { first_seen_at: syncedAt, last_seen_at: syncedAt }
    const insert = db
      .insertInto('sync_drift')
      .values({ ...entry, tenant_id: tenantId, ...stamps })
      .onConflict((c) => c.doNothing())
    if ((await session.run(insert.compile())).affected > 0) {
      fresh.push(entry)
      continue
    }
    const update = db
      .updateTable('sync_drift')
      .set({ last_seen_at: syncedAt })
      .where('resource', '=', entry.resource)
      .where('path', '=', entry.path)
      .where('kind', '=', entry.kind)
      .where('detail', '=', entry.detail)
      // Pages are stored in another order than they were requested in.
      .where('last_seen_at', '<', syncedAt)
    await session.run(update.compile())
  }
  return fresh
}

export const forgetKnownFields = (db: Db, resource: string, names: readonly string[]): CompiledQuery =>
  db
    .deleteFrom('sync_drift')
    .where('resource', '=', resource)
    .where('kind', '=', 'unknown_field')
    .where('path', 'in', [...names])
    .compile()
