/*
 * The state of a warehouse as its own tables tell it. Used by `shopsync status`; src/cli/text/status.ts puts it into
 * words.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { SourceAddress } from '../../config/address.js'
import { since } from '../../format.js'
import type { Reason } from '../../reasons.js'
import { fromMicros } from '../../timestamp.js'
import { readJson } from '../../warehouse/database.js'
import { readLateness } from '../../warehouse/lateness.js'
import { readRefills } from '../../warehouse/refills.js'
import { readSharedCounts } from '../../warehouse/sharedrows.js'
import { wasForgotten } from '../../warehouse/tenants.js'
import type { Warehouse } from '../../warehouse/warehouse.js'
import { latenessOf } from '../run/lateness.js'
import { type BelongsTo, belongsTo } from './belongsto.js'
import { type LastRun, readHolder, readLastRun, type StatusHolder } from './lastrun.js'
import { readLiveRows } from './livecounts.js'
import { type OddList, oddList } from './oddlist.js'

export interface CursorStatus {
  readonly tenant_id: Int64
  readonly resource: string
  /** `never`: no run was complete; `stale`: the last complete run is too long ago; else the state after the last run. */
  readonly state: 'ok' | 'stale' | 'failed' | 'unproven' | 'unavailable' | 'never' | 'revoked' | 'excepted'
  readonly completeness: string | null
  /** Why, as a short code; null where nothing is odd. */
  readonly reason: string | null
  readonly watermark: string | null
  readonly last_success_at: string | null
  /** Seconds since last_success_at. */
  readonly age_seconds: number | null
  /** Live rows of the resource's own table, as the register tells; `verify` compares them with the rows themselves. */
  readonly rows: Int64
  readonly walk_under_way: boolean
  readonly last_error: string | null
  /** Records stamped ahead of the source's clock, and the newest of their stamps; null where there are none. */
  readonly stamps_ahead: { readonly records: Int64; readonly until: string } | null
  /** What is remembered to be odd about the list (docs/guarantees.md, Premises); null where nothing is. */
  readonly odd: OddList | null
  /** Why the whole list is read once, behind the other work of the next syncs; null where it is not. */
  readonly refill: string | null
  /** How far that has come; null where it has not begun. */
  readonly refill_progress: { readonly read: number; readonly of: number } | null
  /** Every creation and update up to then is here; what it was before a late record set it back, else null. */
  readonly complete_through: string | null
  readonly complete_through_before: string | null
  /** Every deletion up to then is here. */
  readonly deletes_checked_at: string | null
  /** Deletions were checked once, and not for longer than status.deletesUncheckedAfter. */
  readonly deletes_unchecked: boolean
}

/** The lateness of one resource's records. */
export interface LatenessStatus {
  readonly resource: string
  /** Records that walks found while lateness could be measured. */
  readonly records: number
  readonly largest_seconds: number
  /** Of a thousand records, 999 were no later. */
  readonly p999_seconds: number
  /** Records that reconcile alone brought. */
  readonly reconciled_records: number
  readonly reconciled_largest_seconds: number
}

export interface TenantStatus {
  readonly tenant_id: Int64
  readonly revoked_at: string | null
  /** Of sync.exceptTenants: not walked, and not complained about. */
  readonly excepted: boolean
  /** Services that two live orders show, after the last run that changed orders (docs/reconcile.md, Shared services). */
  readonly shared_services: number
}

/** The JSON document of `shopsync status`. */
export interface StatusReport {
  readonly healthy: boolean
  readonly checked_at: string
  readonly warehouse: string
  /** null: no run has stored a source yet. */
  readonly belongs_to: BelongsTo | null
  readonly stale_after_seconds: number
  /** What concerns the whole warehouse; null where nothing does. */
  readonly reason: Reason | null
  readonly tenants: readonly TenantStatus[]
  readonly cursors: readonly CursorStatus[]
  readonly quarantined: Int64
  /** How late records became visible in the last 30 days, by resource, all tenants together. */
  readonly lateness: readonly LatenessStatus[]
  /** The run that writes at the moment; null when none does. */
  readonly lease: StatusHolder | null
  readonly last_run: LastRun | null
}

export interface StatusOptions {
  readonly warehouse: Warehouse
  /** The warehouse's address without its password. */
  readonly label: string
  /** The source that the configuration names. */
  readonly source: SourceAddress
  /** Enabled resources: each tenant should have a cursor of each of them. */
  readonly resources: readonly string[]
  /** Tenants the configuration names; null: all that are granted. */
  readonly tenants: readonly Int64[] | null
  /** Tenants that are not to be walked. */
  readonly exceptTenants: readonly Int64[]
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
  readonly nowMicros: bigint
}

const troubled: ReadonlySet<CursorStatus['state']> = new Set(['stale', 'failed', 'unproven', 'never'])

/** Whether the runs of a cursor go wrong, or do not come. */
export const isStateTrouble = ({ state }: Pick<CursorStatus, 'state'>): boolean => troubled.has(state)

export const isTrouble = (cursor: CursorStatus): boolean => isStateTrouble(cursor) || cursor.deletes_unchecked

/** A tenant whose grant was taken away, and of which nobody has said that this is right. */
export const isLostTenant = ({ revoked_at, excepted }: TenantStatus): boolean =>
  revoked_at !== null && !excepted

/** The part of a status that needs somebody. */
export const onlyFailing = (report: StatusReport): StatusReport => {
  const cursors = report.cursors.filter(isTrouble)
  const named = new Set(cursors.map(({ tenant_id }) => tenant_id))
  const tenants = report.tenants.filter((tenant) => isLostTenant(tenant) || named.has(tenant.tenant_id))
  return { ...report, tenants, cursors }
}

/** Whether nothing of it needs somebody. */
const isWell = ({ tenants, cursors, reason, last_run, belongs_to }: Omit<StatusReport, 'healthy'>): boolean =>
  !tenants.some(isLostTenant) &&
  !cursors.some(isTrouble) &&
  reason === null &&
  last_run?.ended_without_a_word !== true &&
  belongs_to?.configured !== false

type Db = Warehouse['db']

/** Freshness, row counts, troubles and the last run of a warehouse. Reads only. */
export async function readStatus(options: StatusOptions): Promise<StatusReport> {
  const missing = await missingTables(options.warehouse)
  const head = {
    checked_at: fromMicros(options.nowMicros),
    warehouse: options.label,
    belongs_to: await belongsTo(options.warehouse, options.source),
    stale_after_seconds: options.staleAfterMs / 1000,
  }
  // No run has ever written to this warehouse.
  if (missing.has('sync_cursors')) {
    const state = { tenants: [], cursors: [], lease: null, last_run: null, reason: null }
    return { healthy: false, ...head, ...state, quarantined: 0, lateness: [] }
  }
  const lateness = missing.has('sync_lateness') ? [] : await latenessStatus(options)
  return options.warehouse.read(async (db) => {
    const tenants = await readTenants(db, options)
    const chosen = tenants.filter(({ tenant_id }) => options.tenants?.includes(tenant_id) ?? true)
    const isForgotten = tenants.length === 0 && (await wasForgotten(options.warehouse))
    const cursors = await readCursors(db, options, chosen, missing)
    const quarantine = db.selectFrom('sync_quarantine').select((e) => e.fn.countAll<Int64>().as('n'))
    const lease = await readHolder(db, options.nowMicros)
    const lastRun = await readLastRun(db, lease)
    const found = {
      ...head,
      reason: isForgotten ? null : grantsReason(tenants, lastRun),
      tenants: chosen,
      cursors,
      lateness,
      quarantined: Number((await quarantine.executeTakeFirst())?.n ?? 0),
      lease,
      last_run: lastRun,
    }
    return { healthy: (cursors.length > 0 || isForgotten) && isWell(found), ...found }
  })
}

async function latenessStatus({ warehouse, resources, nowMicros }: StatusOptions): Promise<LatenessStatus[]> {
  const measured = latenessOf(await readLateness(warehouse, fromMicros(nowMicros)))
  return [...measured]
    .filter(([resource]) => resources.includes(resource))
    .map(([resource, { records, largestMicros, mostMicros, reconciled }]) => ({
      resource,
      records,
      largest_seconds: largestMicros / 1e6,
      p999_seconds: mostMicros / 1e6,
      reconciled_records: reconciled.records,
      reconciled_largest_seconds: reconciled.largestMicros / 1e6,
    }))
}

async function readTenants(db: Db, { exceptTenants }: StatusOptions): Promise<TenantStatus[]> {
  const rows = await db
    .selectFrom('tenants')
    .select(['tenant_id', 'revoked_at'])
    .orderBy('tenant_id')
    .execute()
  const shared = await readSharedCounts(db)
  return rows.map((row) => ({
    ...row,
    excepted: exceptTenants.includes(row.tenant_id),
    shared_services: shared.get(row.tenant_id) ?? 0,
  }))
}

/** Whether nobody is granted: no tenant that is to be walked, or none at all, going by the last run. */
function grantsReason(tenants: readonly TenantStatus[], lastRun: LastRun | null): Reason | null {
  const wanted = tenants.filter(({ excepted }) => !excepted)
  const isAlone =
    tenants.length === 0
      ? lastRun?.reason === 'no_grants'
      : wanted.length > 0 && tenants.every(({ revoked_at }) => revoked_at !== null)
  return isAlone ? 'no_grants' : null
}

/** Tables that the next run would create: of an empty warehouse, or for a resource that is new. */
async function missingTables(warehouse: Warehouse): Promise<Set<string>> {
  const changes = await warehouse.plan()
  return new Set(changes.filter(({ what }) => what === 'create table').map(({ table }) => table))
}

async function readCursors(
  db: Db,
  options: StatusOptions,
  tenants: readonly TenantStatus[],
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
      const age = row?.last_success_at ? since(row.last_success_at, options.nowMicros) : null
      const checked = row?.deletes_checked_at ?? null
      const refill = refills.get(`${tenant_id} ${resource}`)
      const isWalked = revoked_at === null && !excepted
      return {
        tenant_id,
        resource,
        state: excepted
          ? 'excepted'
          : revoked_at === null
            ? cursorStateOf(row, age, options.staleAfterMs)
            : 'revoked',
        completeness: row?.completeness ?? null,
        reason: row?.reason ?? null,
        watermark: row?.watermark ?? null,
        last_success_at: row?.last_success_at ?? null,
        age_seconds: age === null ? null : Math.round(age / 1000),
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
        complete_through: row?.complete_through ?? null,
        complete_through_before: row?.complete_through_before ?? null,
        deletes_checked_at: checked,
        deletes_unchecked: isWalked && checked !== null && isLongAgo(checked, options),
      }
    }),
  )
}

/** Without the walks: a walk under way is long, and there may be thousands. */
const cursorRows = (db: Db) =>
  db
    .selectFrom('sync_cursors')
    .select(['tenant_id', 'resource', 'status', 'completeness', 'reason', 'watermark', 'last_success_at'])
    .select(['last_error', 'stamps_ahead', 'stamps_ahead_until', 'remembered'])
    .select(['complete_through', 'complete_through_before', 'deletes_checked_at'])
    .select((eb) => eb('walk', 'is not', null).as('is_walking'))
    .execute()

const isLongAgo = (checked: string, { nowMicros, deletesUncheckedAfterMs }: StatusOptions): boolean =>
  since(checked, nowMicros) > deletesUncheckedAfterMs

interface CursorRow {
  readonly status: string | null
  readonly completeness: string | null
}

export function cursorStateOf(
  row: CursorRow | undefined,
  age: number | null,
  staleAfterMs: number,
): CursorStatus['state'] {
  if (row === undefined) return 'never'
  if (row.status === 'unavailable') return 'unavailable'
  if (row.status === 'failed') return 'failed'
  if (age === null) return row.completeness === 'unproven' ? 'unproven' : 'never'
  if (age > staleAfterMs) return 'stale'
  return row.completeness === 'unproven' ? 'unproven' : 'ok'
}
