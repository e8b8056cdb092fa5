/**
 * Stamps that are void: later than any holder of the lease can have given. They were written by hand, or by a machine
 * whose clock was wrong before holders recorded how far their stamps may go. Every request made now would lose to such a
 * row for as long as the clocks take to pass it, and nothing would say so. Used by apply.ts and by whatever marks rows.
 */
import type { CompiledQuery, ExpressionBuilder } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { fromMicros, toMicros } from '../../base/timestamp.js'
import type { Table } from '../../model/table.js'
import { type Database, type Db, rootTable } from '../database.js'
import type { Rows, Session } from '../transaction.js'
import type { Batch, Version } from './versionbatch.js'

/**
 * What no stamp is later than, unless it is void. What the current holders give is on record before any row has it, so
 * this is right whenever the statement is executed. null if no holder has recorded anything.
 */
export const stampsEnd = ({ selectFrom }: Pick<ExpressionBuilder<Database, 'sync_lease'>, 'selectFrom'>) =>
  selectFrom('sync_lease').select((eb) => eb.fn.max<string | null>('stamps_until').as('until'))

/**
 * Where the stamps of a holder begin: the stamp of what it rewrites without a request. `changes.through` passes it when the
 * holder has ended, and every request of the holder comes after it. Without a name, that of the newest holder, for what is
 * compared with `through` only: nothing of ours is passed before ours has ended.
 */
export const stampsBegin = (within: Parameters<typeof stampsEnd>[0], name?: string) =>
  within
    .selectFrom('sync_lease')
    .select((eb) => eb.fn.max<string | null>('stamps_from').as('from'))
    .$if(name !== undefined, (query) => query.where('name', '=', name ?? ''))

/** Makes void stamps of these rows older than a request's, which then decides. */
export const lowerVoidStamps = (
  db: Db,
  root: Table,
  {
    tenantId,
    ids,
    askedAt,
  }: { readonly tenantId: Int64; readonly ids: readonly Int64[]; readonly askedAt: string },
): CompiledQuery =>
  db
    .updateTable(rootTable(root))
    .set({ _synced_at: fromMicros(toMicros(askedAt) - 1n) })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', [...ids])
    .where('_synced_at', '>', (eb) => stampsEnd(eb))
    .compile()

/**
 * The stored versions of the batch's records. Void stamps among them are lowered first: what the source shows now
 * decides. Costs a comparison, and statements only where a stamp is ahead of all that this run gave.
 */
export async function storedVersions<R extends Rows<R>>(
  db: Db,
  root: Table,
  session: Session<R>,
  { page, tenantId, syncedAt: askedAt, fence }: Batch,
  how: 'locked' | 'unlocked',
): Promise<{ readonly versions: Map<Int64, Version>; readonly lowered: number }> {
  const ids = page.records.map(({ id }) => id)
  const versions = await session.versions(root, tenantId, ids, how)
  const until = fence?.stampedUntil
  const ahead =
    until === undefined ? [] : [...versions].flatMap(([id, { syncedAt }]) => (syncedAt > until ? id : []))
  if (ahead.length === 0) return { versions, lowered: 0 }
  const { affected } = await session.run(lowerVoidStamps(db, root, { tenantId, ids: ahead, askedAt }))
  return {
    versions: affected > 0 ? await session.versions(root, tenantId, ids, how) : versions,
    lowered: affected,
  }
}
