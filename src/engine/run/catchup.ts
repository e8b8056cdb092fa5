/*
 * What a run brings up to date besides the rows of its cursors: values that the configuration wants elsewhere, what
 * follows from stored records, and what the features keep beside the rows. When the run begins, since the configuration
 * may have changed, and when it ends, since shops may have come.
 */
import type { Int64 } from '../../../schema/resource.js'
import { describeError, Skip } from '../base/errors.js'
import { count } from '../base/format.js'
import { openLease } from '../warehouse/leasedwarehouse.js'
import type { MovedColumn } from '../warehouse/migratecolumns.js'
import { type Recomputed, readOutdated, recompute } from '../warehouse/recompute.js'
import type { Dependencies, Writing } from './runcontext.js'
import { now } from './tenant.js'

const words: Readonly<Record<MovedColumn['to'], string>> = {
  column: 'Values of a field moved from _extra into its column',
  _extra: 'A column is no longer configured: its values moved back into _extra; the column stays, empty',
  history: 'Ended versions are kept from now on; existing rows count as seen since their last request',
  'no history': 'Ended versions are no longer kept; the existing history stays',
}

/**
 * Moves values to where the configuration wants them, before a run stores anything: a record that comes during the move
 * would else be moved or not, as chance has it.
 */
export async function migrateColumns({
  warehouse,
  observer,
  signal,
}: Pick<Writing, 'warehouse' | 'observer' | 'signal'>): Promise<readonly MovedColumn[]> {
  const moved = await warehouse.migrateColumns(signal)
  for (const { table, column, to, values } of moved) observer.notice?.(words[to], { table, column, values })
  return moved
}

/** Computes anew what a changed rule, or changed settings, have left behind (src/engine/warehouse/recompute.ts). */
export async function recomputeDerived({
  warehouse,
  model,
  clock,
  observer,
  signal,
  afterRecompute,
}: Pick<Writing, 'warehouse' | 'model' | 'clock' | 'observer' | 'signal' | 'afterRecompute'>): Promise<
  readonly Recomputed[]
> {
  const progress = (table: string, tenantId: Int64, records: number): void =>
    observer.step?.(`recomputing ${table} of tenant ${tenantId}, ${count(records)} records`, 0, 0)
  const how = { signal, at: () => now({ clock }), progress }
  const done = await recompute(warehouse, model, how).catch((error) => {
    // The next run goes on where a signal has ended the work.
    if (signal.aborted) return []
    // One table's trouble is that table's: the next run tries again.
    if (!(error instanceof Skip)) throw error
    observer.warning?.('Derived rows were not recomputed', { error: describeError(error) })
    return []
  })
  for (const { table, tenantId, records } of done)
    observer.notice?.(
      'Derived rows were recomputed from the stored records, because their rule or settings changed',
      {
        table,
        tenant_id: tenantId,
        records,
      },
    )
  if (done.length > 0) await afterRecompute?.()
  return done
}

/** As `migrateColumns`, without a run; claims the warehouse only where something is to be moved. */
export async function migrateStored(
  deps: Pick<Dependencies, 'warehouse' | 'model' | 'clock' | 'signal' | 'observer' | 'afterRecompute'>,
): Promise<{ readonly moved: readonly MovedColumn[]; readonly recomputed: readonly Recomputed[] }> {
  const { warehouse, model } = deps
  await warehouse.learnRules()
  if (!(await warehouse.hasPendingMoves()) && (await readOutdated(warehouse, model)).length === 0)
    return { moved: [], recomputed: [] }
  await using lease = await openLease(deps, 'migrate')
  const done = {
    moved: await lease.warehouse.migrateColumns(lease.signal),
    recomputed: await recomputeDerived({ ...deps, ...lease }),
  }
  lease.throwIfLost()
  return done
}

/** What follows from stored records is computed anew where the rules have changed. */
export async function beforeCursors(run: Writing): Promise<void> {
  await run.besideRows?.(run)
  await recomputeDerived(run)
}

/** Computes anew where a zone has come with the records. A run that is to end leaves that to the next one. */
export async function afterCursors(run: Writing): Promise<void> {
  await run.besideRows?.(run)
  if (run.signal.aborted) return
  await run.warehouse.learnRules()
  await recomputeDerived(run)
}

/** Takes a tenant's zones for its rules, and notes that it has no rows of other ones. */
export async function learnZones(run: Writing, tenantId: Int64): Promise<void> {
  const { warehouse } = run
  const before = warehouse.rules.textOf(tenantId)
  await warehouse.learnRules(tenantId)
  if (warehouse.rules.textOf(tenantId) !== before) await recomputeDerived(run)
}
