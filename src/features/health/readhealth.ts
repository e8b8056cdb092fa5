/*
 * Reads everything that is known about every cursor, from the warehouse's own tables. Used by `status` and the report.
 */
import type { Int64 } from '../../../schema/resource.js'
import { ageOf } from '../../engine/base/format.js'
import { inParts } from '../../engine/base/parts.js'
import { hiddenIn, memoryOf } from '../../engine/list/memory.js'
import { type Db, readerOf, rootTable } from '../../engine/warehouse/database.js'
import { listCursors, rowName } from '../../engine/warehouse/state/cursors.js'
import {
  type CursorHealth,
  cursorState,
  type HealthRule,
  healthColumns,
  type SeenCursor,
  type TenantStanding,
  uncheckedSince,
} from './cursorhealth.js'

/** `runningOf`: `runningMs` of a tenant; default: the same for all. */
export async function readHealth(
  db: Db,
  seen: readonly SeenCursor[],
  asked: Asked,
  all: HealthRule & { readonly runningOf?: (tenantId: Int64) => number | null },
): Promise<CursorHealth[]> {
  const { tenants, resources } = asked
  const rows = new Map<Int64, Map<string, SeenCursor>>()
  for (const row of seen) {
    const ofTenant = rows.get(row.tenant_id) ?? new Map()
    rows.set(row.tenant_id, ofTenant.set(row.resource, row))
  }
  const refills = await readRefills(db, seen)
  const counts = await countUnregistered(db, asked, rows)
  return tenants.flatMap((tenant) => {
    const { tenant_id } = tenant
    const ofTenant = rows.get(tenant_id)
    const rule = all.runningOf
      ? { ...all, runningMs: all.runningOf(tenant_id), isLoading: all.runningMs !== null }
      : all
    return resources.map((resource) => {
      const row = ofTenant?.get(resource)
      const refill = row?.refill ? refills.get(rowName(row)) : undefined
      const live = row?.live_rows ?? counts.get(rowName({ tenant_id, resource })) ?? 0
      return healthOf(tenant, resource, { row, refill, live }, rule)
    })
  })
}

/** What is stored of all cursors, as they are in `db`. */
export const seenCursors = (db: Db): Promise<SeenCursor[]> => listCursors(readerOf(db), healthColumns)

interface Refill {
  /** Records that were read, and how many the list had then. */
  readonly read: number
  readonly of: number
}

/**
 * How far the readings of lists have come that have to be read whole once (layout.ts). Those that haven't begun are left
 * out.
 */
async function readRefills(db: Db, seen: readonly SeenCursor[]): Promise<ReadonlyMap<string, Refill>> {
  if (seen.every(({ refill }) => refill === null)) return new Map()
  const begun = await listCursors(readerOf(db), ['refill_walk'], {
    where: (eb) => eb.and([eb('refill', 'is not', null), eb('refill_walk', 'is not', null)]),
  })
  return new Map(
    begun.map((row) => {
      // `below`: records still to be read.
      const { last, below } = row.refill_walk as { readonly last: number; readonly below: number }
      return [rowName(row), { read: Math.max(0, last - below), of: last }]
    }),
  )
}

function healthOf(
  tenant: TenantStanding,
  resource: string,
  known: {
    /** undefined: no run has begun it. */
    readonly row: SeenCursor | undefined
    readonly refill: Refill | undefined
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
    walk_under_way: row?.is_walking === true || refill !== undefined,
    last_error: row?.last_error ?? null,
    stamps_ahead: row?.stamps_ahead_until
      ? { records: Number(row.stamps_ahead ?? 0), until: row.stamps_ahead_until }
      : null,
    odd: oddList(row?.remembered ?? null),
    refill: row?.refill ?? null,
    refill_progress: refill ?? null,
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

/** Live rows where no register says how many there are, by `rowName`. */
async function countUnregistered(
  db: Db,
  { tenants, resources, missing }: Asked,
  rows: ReadonlyMap<Int64, ReadonlyMap<string, SeenCursor>>,
): Promise<ReadonlyMap<string, Int64>> {
  const counts = new Map<string, Int64>()
  for (const resource of resources) {
    if (missing.has(resource)) continue
    const unknown = tenants
      .map(({ tenant_id }) => tenant_id)
      .filter((tenantId) => (rows.get(tenantId)?.get(resource)?.live_rows ?? null) === null)
    await addCounted(db, resource, unknown, counts)
  }
  return counts
}

/** Few statements per table instead of one per cursor. */
async function addCounted(
  db: Db,
  resource: string,
  unknown: readonly Int64[],
  counts: Map<string, Int64>,
): Promise<void> {
  for (const part of inParts(unknown)) {
    const rows = await db
      .selectFrom(rootTable({ name: resource }))
      .select((e) => ['tenant_id', e.fn.countAll<Int64>().as('n')])
      .where('tenant_id', 'in', part)
      .where('_deleted_at', 'is', null)
      .groupBy('tenant_id')
      .execute()
    for (const { tenant_id, n } of rows) counts.set(rowName({ tenant_id, resource }), Number(n))
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
