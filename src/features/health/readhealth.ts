/*
 * Reads everything that is known about every cursor, from the warehouse's own tables. Used by `status` and the report.
 */
import type { Int64 } from '../../../schema/resource.js'
import { ageOf } from '../../engine/base/format.js'
import { inParts } from '../../engine/base/parts.js'
import { hiddenIn, memoryOf } from '../../engine/list/memory.js'
import { type Db, readJson, rootTable } from '../../engine/warehouse/database.js'
import { readRefills } from '../../engine/warehouse/state/cursors.js'
import {
  type CursorHealth,
  type CursorRow,
  cursorRows,
  cursorState,
  type HealthRule,
  type TenantStanding,
  uncheckedSince,
} from './cursorhealth.js'

/** `runningOf`: `runningMs` of a tenant; default: the same for all. */
export async function readHealth(
  db: Db,
  asked: Asked,
  all: HealthRule & { readonly runningOf?: (tenantId: Int64) => number | null },
): Promise<CursorHealth[]> {
  const { tenants, resources } = asked
  const rows = new Map((await cursorRows(db).execute()).map((row) => [listId(row), row]))
  const refills = new Map((await readRefills(db)).map((refill) => [listId(refill), refill]))
  const liveRows = await readLiveRows(db, asked)
  return tenants.flatMap((tenant) => {
    const { tenant_id } = tenant
    const rule = all.runningOf
      ? { ...all, runningMs: all.runningOf(tenant_id), isLoading: all.runningMs !== null }
      : all
    return resources.map((resource) => {
      const name = listId({ tenant_id, resource })
      const known = { row: rows.get(name), refill: refills.get(name), live: liveRows(resource, tenant_id) }
      return healthOf(tenant, resource, known, rule)
    })
  })
}

export const listId = ({ tenant_id, resource }: Pick<CursorRow, 'tenant_id' | 'resource'>): string =>
  `${tenant_id} ${resource}`

function healthOf(
  tenant: TenantStanding,
  resource: string,
  known: {
    /** undefined: no run has begun it. */
    readonly row: CursorRow | undefined
    readonly refill: Awaited<ReturnType<typeof readRefills>>[number] | undefined
    readonly live: Int64
  },
  rule: HealthRule,
): CursorHealth {
  const { row, refill, live } = known
  const { tenant_id, revoked_at, excepted } = tenant
  const { last_success_at: last = null, deletes_checked_at: checked = null } = row ?? {}
  const isWalked = revoked_at === null && !excepted
  const age = last === null ? undefined : ageOf(last, rule.nowMicros)
  return {
    tenant_id,
    resource,
    state: excepted ? 'excepted' : isWalked ? cursorState(row, rule) : 'revoked',
    completeness: row?.completeness ?? null,
    reason: row?.reason ?? null,
    watermark: row?.watermark ?? null,
    last_success_at: last,
    age_seconds: age === undefined ? null : Math.round(age / 1000),
    rows: live,
    walk_under_way: Boolean(row?.is_walking) || refill?.read != null,
    last_error: row?.last_error ?? null,
    stamps_ahead: row?.stamps_ahead_until
      ? { records: Number(row.stamps_ahead ?? 0), until: row.stamps_ahead_until }
      : null,
    odd: oddList(readJson(row?.remembered ?? null)),
    refill: refill?.reason ?? null,
    refill_progress:
      refill && refill.read !== null && refill.of !== null ? { read: refill.read, of: refill.of } : null,
    complete_through: possible(row?.complete_through ?? null, rule),
    complete_through_before: row?.complete_through_before ?? null,
    deletes_checked_at: checked,
    deletes_unchecked: isWalked && uncheckedSince({ deletes_checked_at: checked }, rule) !== null,
  }
}

/** A claim in the future was written under a wrong clock, and doesn't count. */
const possible = (moment: string | null, { nowMicros }: HealthRule): string | null =>
  moment !== null && ageOf(moment, nowMicros) !== undefined ? moment : null

interface Asked {
  readonly tenants: readonly TenantStanding[]
  /** Each tenant should have a cursor for each of them. */
  readonly resources: readonly string[]
  /** Tables that don't exist yet. */
  readonly missing: ReadonlySet<string>
}

async function readLiveRows(
  db: Db,
  { tenants, resources, missing }: Asked,
): Promise<(resource: string, tenantId: Int64) => Int64> {
  const counts = new Map(resources.map((name) => [name, new Map<Int64, Int64>()]))
  if (!missing.has('sync_registers')) await addRegisters(db, counts)
  for (const [resource, known] of counts) {
    const unknown = tenants.map(({ tenant_id }) => tenant_id).filter((id) => !known.has(id))
    if (unknown.length > 0 && !missing.has(resource)) await addCounted(db, resource, { unknown, known })
  }
  return (resource, tenantId) => counts.get(resource)?.get(tenantId) ?? 0
}

async function addRegisters(db: Db, counts: ReadonlyMap<string, Map<Int64, Int64>>): Promise<void> {
  const registers = await db
    .selectFrom('sync_registers')
    .select(['tenant_id', 'resource', 'live_rows'])
    .where('live_rows', 'is not', null)
    .execute()
  for (const { tenant_id, resource, live_rows } of registers)
    counts.get(resource)?.set(tenant_id, Number(live_rows))
}

/** Few statements per table instead of one per cursor. */
async function addCounted(
  db: Db,
  resource: string,
  { unknown, known }: { readonly unknown: readonly Int64[]; readonly known: Map<Int64, Int64> },
): Promise<void> {
  for (const part of inParts(unknown)) {
    const rows = await db
      .selectFrom(rootTable({ name: resource }))
      .select((e) => ['tenant_id', e.fn.countAll<Int64>().as('n')])
      .where('tenant_id', 'in', part)
      .where('_deleted_at', 'is', null)
      .groupBy('tenant_id')
      .execute()
    for (const { tenant_id, n } of rows) known.set(tenant_id, Number(n))
  }
}

function oddList(remembered: unknown): CursorHealth['odd'] {
  if (remembered === null) return null
  const memory = memoryOf(remembered)
  const { twice = 0, holes = [], isUnordered = false, isUncounted = false, isBeforeAll = false } = memory
  return {
    listed_twice: twice,
    not_shown: hiddenIn(memory),
    unreadable: holes.reduce((sum, { records }) => sum + records, 0),
    holes: holes.map(({ after, until, records }) => ({ after, until, records })),
    not_newest_first: isUnordered,
    no_true_total: isUncounted,
    longer_without_filter: isBeforeAll,
    left_the_list: memory.left?.records ?? 0,
  }
}
