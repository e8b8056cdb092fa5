import type { Int64 } from '../../../schema/resource.js'
import type { Item } from '../../api/source.js'
import { Skip } from '../../errors.js'
import type { ResourceModel } from '../../model/registry.js'
import type { Warehouse } from '../../warehouse/warehouse.js'
import { type Dependencies, newRunId } from '../run/context.js'

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

export interface Choice {
  readonly tenants: readonly Int64[] | null
  readonly resources: readonly string[] | null
}

/** What could not be stored, by tenant, resource and record. */
export function listQuarantine(warehouse: Warehouse, { tenants, resources }: Choice): Promise<Quarantined[]> {
  return warehouse.read((db) => {
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
}

/** What became of one record that was tried again. */
export interface Replayed {
  readonly tenant_id: Int64
  readonly resource: string
  readonly record_id: string
  /** `gone`: the source has it no longer; `unreachable`: it has no id to ask by; `failed`: it could not be fetched. */
  readonly outcome: 'stored' | 'still bad' | 'gone' | 'unreachable' | 'failed'
  readonly detail: string | null
}

interface Run {
  readonly fence: Int64
  readonly runId: string
}

interface QuarantinedRecord {
  readonly tenantId: Int64
  readonly resource: ResourceModel
  readonly recordId: string
}

function recordsOf(deps: Dependencies, entries: readonly Quarantined[]): QuarantinedRecord[] {
  const unique = new Map<string, QuarantinedRecord>()
  for (const { tenant_id: tenantId, resource: name, record_id: recordId } of entries) {
    const resource = deps.model.byName.get(name)
    if (resource) unique.set(`${tenantId} ${name} ${recordId}`, { tenantId, resource, recordId })
  }
  return [...unique.values()]
}

/** The id to ask by; undefined when the record never had one. */
const idOf = (recordId: string): Int64 | undefined => {
  if (!/^-?\d{1,19}$/.test(recordId)) return undefined
  const id = BigInt(recordId)
  return id <= 9007199254740991n && id >= -9007199254740991n ? Number(id) : id
}

async function store(deps: Dependencies, record: QuarantinedRecord, item: Item, run: Run): Promise<number> {
  const flattened = record.resource.flatten([item.record], item.careful)
  await deps.warehouse.apply({
    tenantId: record.tenantId,
    resource: record.resource.name,
    flattened,
    syncedAt: item.startedAt,
    statements: [],
    fence: run.fence,
    origin: { runId: run.runId, way: 'replay', page: null, requestId: item.requestId ?? null },
  })
  return flattened.quarantine.length
}

async function replayOne(deps: Dependencies, record: QuarantinedRecord, run: Run): Promise<Replayed> {
  const { tenantId, resource, recordId } = record
  const done = (outcome: Replayed['outcome'], detail: string | null): Replayed => ({
    tenant_id: tenantId,
    resource: resource.name,
    record_id: recordId,
    outcome,
    detail,
  })
  const id = idOf(recordId)
  if (id === undefined)
    return done(
      'unreachable',
      `it has no id to ask by: shopsync sync --full --resource ${resource.name} reads it again`,
    )
  try {
    const { signal } = deps
    const item = await deps.source.item({ tenantId, path: resource.path, id, priority: 'lookup', signal })
    if (!item) return done('gone', 'the source has it no longer: shopsync reconcile marks it deleted')
    const left = await store(deps, record, item, run)
    return left === 0 ? done('stored', null) : done('still bad', `${left} values cannot be stored still`)
  } catch (error) {
    if (error instanceof Skip) return done('failed', error.message)
    throw error
  }
}

/** Fetches what is in quarantine again, record by record, and tries once more. Needs the lease, as every writer. */
export async function replayQuarantine(deps: Dependencies, choice: Choice): Promise<Replayed[]> {
  const runId = newRunId(deps)
  const lease = await deps.warehouse.claim({
    runId,
    command: 'quarantine replay',
    leaseMs: deps.leaseMs ?? 60_000,
  })
  try {
    const outcomes: Replayed[] = []
    for (const record of recordsOf(deps, await listQuarantine(deps.warehouse, choice))) {
      if (deps.signal.aborted) break
      outcomes.push(await replayOne(deps, record, { fence: lease.token, runId }))
    }
    return outcomes
  } finally {
    await lease.release()
  }
}
