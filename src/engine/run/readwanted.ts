/*
 * Records that are no longer forgotten, since another customer's record refers to them (warehouse/hiding/forgottenrecords.ts): at the
 * end of a run, the source is queried for them by id. If it doesn't answer by id, their lists are read whole.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Skip } from '../base/errors.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import { readForgottenRecords, settleWanted, wantedRecords } from '../warehouse/hiding/forgottenrecords.js'
import { demandRefill, readCursor } from '../warehouse/state/cursors.js'
import { byIdOf } from './byid.js'
import { flatList } from './cursorlist.js'
import type { WritingRun } from './runcontext.js'
import { PageStore } from './store.js'
import { type CursorRun, now, TenantRuns } from './tenant.js'

/** How many records one run requests at most; the next run continues. */
const mostLookups = 100

export async function readWanted(run: WritingRun): Promise<void> {
  const { warehouse, shard } = run
  if (run.signal.aborted) return
  const all = await wantedRecords(warehouse, shard)
  if (all.length === 0) return
  await readForgottenRecords(warehouse)
  const tenants = new TenantRuns(run)
  const lists = new Map<string, { tenantId: Int64; resource: ResourceModel; ids: Int64[] }>()
  for (const { tenant_id: tenantId, resource: name, record_id: id } of all.slice(0, mostLookups)) {
    const resource = warehouse.model.byName.get(name)
    if (!resource) continue
    const list = lists.get(`${tenantId} ${name}`) ?? { tenantId, resource, ids: [] }
    lists.set(`${tenantId} ${name}`, list)
    list.ids.push(id)
  }
  for (const { tenantId, resource, ids } of lists.values()) {
    const cursor = tenants.of(tenantId).cursor(resource)
    // The run no longer has the states of lists whose work has ended.
    const state = await readCursor(warehouse, cursor.key)
    await readThem(state ? cursor.from(state) : cursor, ids).catch((error: unknown) => {
      if (!(error instanceof Skip)) throw error
    })
  }
}

async function readThem(cursor: CursorRun, ids: readonly Int64[]): Promise<void> {
  const { resource, run, tenantId, warehouse } = cursor
  const list = flatList(cursor, 'lookup')
  const { answers, isOffered } = await byIdOf(cursor, list).ask(ids)
  const store = new PageStore(cursor, 'lookup')
  const done: Int64[] = []
  for (const [id, answer] of isOffered ? answers : []) {
    if (answer.kind === 'record') await store.storeFlat(answer.fetched)
    if (answer.kind === 'record' || answer.kind === 'gone') done.push(id)
  }
  const reason = 'records are no longer forgotten, and the source does not answer by id'
  const refill = isOffered ? [] : [demandRefill(warehouse.db, resource.name, reason, now(run), tenantId)]
  const settled = isOffered ? done : ids
  if (settled.length > 0)
    await warehouse.write([...refill, settleWanted(warehouse.db, resource, tenantId, settled)])
}
