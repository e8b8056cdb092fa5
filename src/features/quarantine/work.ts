import type { Int64 } from '../../../schema/resource.js'
import { describeError, Skip } from '../../engine/base/errors.js'
import { plural } from '../../engine/base/format.js'
import { parseInt64 } from '../../engine/base/int64.js'
import { epoch } from '../../engine/list/cutpoint.js'
import { type ById, byIdNow } from '../../engine/run/byid.js'
import { type CursorList, flatList } from '../../engine/run/cursorlist.js'
import { LiveRows } from '../../engine/run/liverows.js'
import type { Dependencies, Writing } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { TenantStats } from '../../engine/run/runstats.js'
import { PageStore } from '../../engine/run/store.js'
import { type CursorTask, keyOf } from '../../engine/run/tenant.js'
import { openLease } from '../../engine/warehouse/lease/openlease.js'
import { cursorColumns, cursorName } from '../../engine/warehouse/state/cursors.js'
import { forgetRecord } from '../../engine/warehouse/state/quarantine.js'
import { checkSourceIdentity } from '../../engine/warehouse/state/sourceidentity.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** One value, item or record in quarantine (contract: state tables). */
export interface Quarantined {
  readonly tenant_id: Int64
  readonly resource: string
  readonly record_id: string
  readonly path: string
  readonly value: string | null
  readonly reason: string | null
  readonly first_seen_at: string | null
  readonly last_seen_at: string | null
}

/**
 * What could not be stored, by tenant, resource and record: without what `privacy` hides by now, also before a command
 * that writes has hidden it in the warehouse.
 */
export async function listQuarantine(
  warehouse: Warehouse,
  { tenants, resources }: CursorChoice,
): Promise<Quarantined[]> {
  const entries = await warehouse.read((db) => {
    let query = db
      .selectFrom('sync_quarantine')
      .selectAll()
      .orderBy('tenant_id')
      .orderBy('resource')
      .orderBy('record_id')
      .orderBy('path')
    if (tenants) query = query.where('tenant_id', 'in', [...tenants])
    if (resources) query = query.where('resource', 'in', [...resources])
    return query.execute()
  })
  return entries.map((entry) => warehouse.model.byName.get(entry.resource)?.places.entry(entry) ?? entry)
}

/** A record may have several values in quarantine. */
export const recordsIn = (entries: readonly Quarantined[]): number =>
  new Set(entries.map(({ tenant_id, resource, record_id }) => `${tenant_id} ${resource} ${record_id}`)).size

/** The outcome of retrying one record. */
export interface Replayed {
  readonly tenant_id: Int64
  readonly resource: string
  readonly record_id: string
  /** `gone`: the source no longer has it; `unreachable`: it has no id to request, or the source doesn't answer by id; `failed`: it could not be fetched. */
  readonly outcome: 'stored' | 'still bad' | 'gone' | 'unreachable' | 'failed'
  readonly detail: string | null
}

interface QuarantinedRecord extends CursorTask {
  readonly recordId: string
}

function recordsOf(deps: Dependencies, entries: readonly Quarantined[]): QuarantinedRecord[] {
  const unique = new Map<string, QuarantinedRecord>()
  for (const { tenant_id: tenantId, resource: name, record_id: recordId } of entries) {
    const resource = deps.warehouse.model.byName.get(name)
    if (resource) unique.set(`${tenantId} ${name} ${recordId}`, { tenantId, resource, recordId })
  }
  return [...unique.values()]
}

/**
 * Removes a record that never was a row if a 404 shows that it is gone, provided the source answers by id for a record
 * that it lists. If it has a row, reconcile will confirm and mark the deletion.
 */
async function forgetGone(run: Writing, record: QuarantinedRecord, id: Int64): Promise<string> {
  const row = (await new LiveRows(run.warehouse, record).versions([id])).get(id)
  if (row?.deletedAt === null) return 'the source no longer has it: shopsync reconcile marks it deleted'
  await run.warehouse.write([forgetRecord(run.warehouse.db, keyOf(record), record.recordId)])
  return 'the source no longer has it: removed from quarantine'
}

/** What the records of one list share: whether the source answers by id is found out once. */
interface Lookup {
  readonly list: CursorList
  readonly byId: ById
}

function lookupOf(run: Writing, record: QuarantinedRecord): Lookup {
  const list = flatList({ ...run, ...record }, 'lookup')
  return { list, byId: byIdNow(run, list) }
}

/** Nothing was listed that could have been requested: an empty list doesn't have the record either. */
const isEmpty = async (list: CursorList): Promise<boolean> =>
  list.probeId === undefined && (await list.fetch(epoch, 1, 1)).total === 0

async function replayOne(run: Writing, record: QuarantinedRecord, { list, byId }: Lookup): Promise<Replayed> {
  const { resource, recordId } = record
  const key = keyOf(record)
  const done = (outcome: Replayed['outcome'], detail: string | null): Replayed => ({
    ...cursorColumns(key),
    record_id: recordId,
    outcome,
    detail,
  })
  const id = parseInt64(recordId)
  if (id === undefined)
    return done(
      'unreachable',
      `it has no id to fetch it by: shopsync sync --full --resource ${resource.name} reads it again`,
    )
  try {
    const { answers, isOffered } = await byId.ask([id])
    const answer = answers.get(id)
    if (!answer || !(isOffered || (await isEmpty(list))))
      return done(
        'unreachable',
        `the source does not answer by id, so it may be gone or not: shopsync sync --full --resource ${resource.name} reads it again`,
      )
    if (answer.kind === 'gone') return done('gone', await forgetGone(run, record, id))
    if (answer.kind !== 'record')
      return done('failed', `the source does not show it: found ${answer.found}, expected the record`)
    const { fetched } = answer
    // The outcome shows what is left in quarantine; it doesn't have to be logged.
    const store = new PageStore(
      { key, resource, warehouse: run.warehouse, observer: {}, stats: new TenantStats() },
      'replay',
    )
    await store.storeFlat(fetched)
    const left = fetched.flattened.quarantine.length
    return left === 0
      ? done('stored', null)
      : done('still bad', `${plural(left, 'value')} still cannot be stored`)
  } catch (error) {
    if (error instanceof Skip) return done('failed', describeError(error))
    throw error
  }
}

/** Fetches the records in quarantine again, one by one, and retries them. Needs the lease, like every writer. */
export async function replayQuarantine(deps: Dependencies, choice: CursorChoice): Promise<Replayed[]> {
  await using lease = await openLease(deps, 'quarantine replay')
  await checkSourceIdentity(deps.warehouse, deps.source.address)
  const outcomes: Replayed[] = []
  const lookups = new Map<string, Lookup>()
  const records = recordsOf(deps, await listQuarantine(deps.warehouse, choice))
  for (const record of records) {
    if (lease.signal.aborted) break
    deps.observer.step?.('fetching each record again', outcomes.length, records.length)
    const run = { ...deps, ...lease }
    const name = cursorName(keyOf(record))
    const lookup = lookups.get(name) ?? lookupOf(run, record)
    lookups.set(name, lookup)
    outcomes.push(await replayOne(run, record, lookup))
  }
  lease.throwIfLost()
  return outcomes
}
