/* The state of each cursor, from the warehouse's own tables. Used by status.ts and gauges.ts. */

import type { Int64 } from '../../../schema/resource.js'
import { ageOf, isOlderThan } from '../../engine/base/format.js'
import { inParts } from '../../engine/base/parts.js'
import { hiddenIn, memoryOf } from '../../engine/list/memory.js'
import { readRefills } from '../../engine/warehouse/cursors.js'
import { readJson, rootTable } from '../../engine/warehouse/database.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

export interface CursorStatus {
  readonly tenant_id: Int64
  readonly resource: string
  /**
   * `never`: no run was complete; `loading`: neither, but a run is at work; `stale`: the last complete run is too long
   * ago; otherwise the state after the last run.
   */
  readonly state:
    | 'ok'
    | 'stale'
    | 'failed'
    | 'unproven'
    | 'unavailable'
    | 'never'
    | 'loading'
    | 'revoked'
    | 'excepted'
  readonly completeness: string | null
  /** Why, as a short code; null if nothing is unusual. */
  readonly reason: string | null
  readonly watermark: string | null
  readonly last_success_at: string | null
  /** Seconds since last_success_at; also null if that is in the future, so nobody knows. */
  readonly age_seconds: number | null
  /**
   * Live rows of the resource's own table according to the register; `verify` compares that with the rows themselves.
   */
  readonly rows: Int64
  readonly walk_under_way: boolean
  readonly last_error: string | null
  /** Records stamped ahead of the source's clock, and the newest of their stamps; null if there are none. */
  readonly stamps_ahead: { readonly records: Int64; readonly until: string } | null
  /** What is known to be unusual about the list (docs/guarantees.md, Premises); null if nothing is. */
  readonly odd: OddList | null
  /** Why the next syncs read the whole list once, after their other work; null if they don't. */
  readonly refill: string | null
  /** How far that has got; null if it hasn't started. */
  readonly refill_progress: { readonly read: number; readonly of: number } | null
  /** Every creation and update up to then is here. `_before`: its value before a late record set it back, otherwise null. */
  readonly complete_through: string | null
  readonly complete_through_before: string | null
  /** Every deletion up to then is here. */
  readonly deletes_checked_at: string | null
  /** Deletions were checked, but not within status.deletesUncheckedAfter. */
  readonly deletes_unchecked: boolean
}

interface CursorQuestion {
  /** Enabled resources: each tenant should have a cursor for each of them. */
  readonly resources: readonly string[]
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
  readonly nowMicros: bigint
  /** See `runningMs`. */
  readonly runningMs: number | null
}

interface Standing {
  readonly tenant_id: Int64
  readonly revoked_at: string | null
  readonly excepted: boolean
}

type Db = Warehouse['db']

export async function readCursorStates(
  db: Db,
  options: CursorQuestion,
  tenants: readonly Standing[],
  missing: ReadonlySet<string>,
): Promise<CursorStatus[]> {
  const byName = new Map((await cursorRows(db)).map((row) => [`${row.tenant_id} ${row.resource}`, row]))
  const refills = new Map(
    (await readRefills(db)).map((refill) => [`${refill.tenant_id} ${refill.resource}`, refill]),
  )
  const liveRows = await readLiveRows(db, { tenants, resources: options.resources, missing })
  return tenants.flatMap(({ tenant_id, revoked_at, excepted }) =>
    options.resources.map((resource): CursorStatus => {
      const row = byName.get(`${tenant_id} ${resource}`)
      const age = row?.last_success_at ? (ageOf(row.last_success_at, options.nowMicros) ?? 'unknown') : null
      const checked = row?.deletes_checked_at ?? null
      const refill = refills.get(`${tenant_id} ${resource}`)
      const isWalked = revoked_at === null && !excepted
      return {
        tenant_id,
        resource,
        state: excepted ? 'excepted' : revoked_at === null ? cursorStateOf(row, age, options) : 'revoked',
        completeness: row?.completeness ?? null,
        reason: row?.reason ?? null,
        watermark: row?.watermark ?? null,
        last_success_at: row?.last_success_at ?? null,
        age_seconds: typeof age === 'number' ? Math.round(age / 1000) : null,
        rows: liveRows(resource, tenant_id),
        walk_under_way: Boolean(row?.is_walking) || refill?.read != null,
        last_error: row?.last_error ?? null,
        stamps_ahead: row?.stamps_ahead_until
          ? { records: Number(row.stamps_ahead ?? 0), until: row.stamps_ahead_until }
          : null,
        odd: oddList(readJson(row?.remembered ?? null)),
        refill: refill?.reason ?? null,
        refill_progress:
          refill && refill.read !== null && refill.of !== null ? { read: refill.read, of: refill.of } : null,
        complete_through: possible(row?.complete_through, options.nowMicros),
        complete_through_before: row?.complete_through_before ?? null,
        deletes_checked_at: checked,
        deletes_unchecked: isWalked && checked !== null && isLongAgo(checked, options),
      }
    }),
  )
}

/** Without the walks: a walk in progress is long, and there may be thousands. */
const cursorRows = (db: Db) =>
  db
    .selectFrom('sync_cursors')
    .select(['tenant_id', 'resource', 'status', 'completeness', 'reason', 'watermark', 'last_success_at'])
    .select(['last_error', 'stamps_ahead', 'stamps_ahead_until', 'remembered'])
    .select(['complete_through', 'complete_through_before', 'deletes_checked_at'])
    .select((eb) => eb('walk', 'is not', null).as('is_walking'))
    .execute()

const isLongAgo = (checked: string, { nowMicros, deletesUncheckedAfterMs }: CursorQuestion): boolean =>
  isOlderThan(checked, nowMicros, deletesUncheckedAfterMs)

/** A claim in the future was written under a wrong clock, and doesn't count. */
const possible = (moment: string | null | undefined, nowMicros: bigint): string | null =>
  moment && ageOf(moment, nowMicros) !== undefined ? moment : null

interface CursorRow {
  readonly status: string | null
  readonly completeness: string | null
}

/** `age`: milliseconds since the last complete walk; null if there was none. An unknown age counts as too old. */
export function cursorStateOf(
  row: CursorRow | undefined,
  age: number | 'unknown' | null,
  { staleAfterMs, runningMs }: Pick<CursorQuestion, 'staleAfterMs' | 'runningMs'>,
): CursorStatus['state'] {
  const unread = runningMs === null ? 'never' : 'loading'
  if (row === undefined) return unread
  if (row.status === 'unavailable') return 'unavailable'
  if (row.status === 'failed') return 'failed'
  if (age === null) return row.completeness === 'unproven' ? 'unproven' : unread
  if (age === 'unknown' || age > Math.max(staleAfterMs, runningMs ?? 0)) return 'stale'
  return row.completeness === 'unproven' ? 'unproven' : 'ok'
}

interface Asked {
  readonly tenants: readonly { readonly tenant_id: Int64 }[]
  readonly resources: readonly string[]
  /** Tables that don't exist yet. */
  readonly missing: ReadonlySet<string>
}

type LiveCount = (resource: string, tenantId: Int64) => Int64

async function readLiveRows(db: Db, { tenants, resources, missing }: Asked): Promise<LiveCount> {
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

interface OddList {
  /** How often the list shows a record again. */
  readonly listed_twice: number
  /** Records that it counts but never shows. */
  readonly not_shown: number
  /** Records that break every response that contains them, and between which times they are. */
  readonly unreadable: number
  readonly holes: readonly { readonly after: string; readonly until: string; readonly records: number }[]
  readonly not_newest_first: boolean
  readonly no_true_total: boolean
  readonly longer_without_filter: boolean
  /** Records that had left it at the last reconcile but could be read by id. */
  readonly left_the_list: number
}

function oddList(remembered: unknown): OddList | null {
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
