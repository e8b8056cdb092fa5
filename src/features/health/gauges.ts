/*
 * The metrics of a warehouse's current state, from its own tables, without counting rows, since they are requested
 * every few seconds. Used by src/features/health/metrics.ts.
 */
import type { Int64 } from '../../../schema/resource.js'
import { toMicros } from '../../engine/base/timestamp.js'
import { readHolders, runningMs } from '../../engine/run/lastrun.js'
import { type Db, readerOf } from '../../engine/warehouse/database.js'
import { alikeCursors, listCursors } from '../../engine/warehouse/state/cursors.js'
import { alertKinds, isSuspicion } from './alertsettings.js'
import {
  type CursorHealth,
  cursorState,
  cursorStates,
  type HealthRule,
  isLostTenant,
  overdueFor,
  tenantRows,
  tenantStandings,
  uncheckedSince,
} from './cursorhealth.js'
import { openIncidents } from './openincidents.js'
import { quietLists } from './quietlists.js'
import type { StatusOptions } from './statusdocument.js'

export interface GaugesOptions
  extends Pick<
    StatusOptions,
    | 'warehouse'
    | 'resources'
    | 'tenants'
    | 'exceptTenants'
    | 'staleAfterMs'
    | 'deletesUncheckedAfterMs'
    | 'nowMicros'
  > {
  /** With more tenants than this, the oldest times stand for all. */
  readonly maxTenants: number
}

/** The times of a cursor that should be synced, or the oldest of all tenants' cursors of a resource. */
interface CursorTimes {
  readonly tenant_id?: Int64
  readonly resource: string
  readonly watermark: string | null
  readonly last_success_at: string | null
}

export interface WarehouseGauges {
  /** How many cursors are in each state. */
  readonly states: ReadonlyMap<CursorHealth['state'], number>
  /** Cursors whose deletions were not checked for a long time. */
  readonly deletesUnchecked: number
  /** Lists that bring nothing although they usually do. */
  readonly quiet: number
  /** For tenants that are granted and wanted. */
  readonly times: readonly CursorTimes[]
  /** Values, items and records in quarantine. */
  readonly quarantine: readonly { readonly resource: string; readonly amount: number }[]
  readonly drift: readonly { readonly resource: string; readonly kind: string; readonly amount: number }[]
  /** Open incidents, by kind. */
  readonly incidents: ReadonlyMap<string, number>
  /** For how many seconds the writing run has held the lock, or the first of several shards; 0 if there is none. */
  readonly leaseSeconds: number
  /** What is left of the windows that processes share now. */
  readonly rates: readonly { readonly rule: string; readonly left: number }[]
}

/** Read-only. */
export async function readGauges(options: GaugesOptions): Promise<WarehouseGauges> {
  const { warehouse, nowMicros } = options
  // A warehouse that nothing has brought up to date yet lacks the table.
  const sharesRates = await warehouse.has('sync_rate')
  return warehouse.read(async (db) => {
    const holders = await readHolders(db, nowMicros)
    const running = runningMs(holders, nowMicros)
    const [since = nowMicros] = holders
      .flatMap((holder) => (holder.since ? toMicros(holder.since) : []))
      .sort((a, b) => (a < b ? -1 : 1))
    return {
      ...(await readCursorGauges(db, options, { ...options, runningMs: running })),
      quiet: (await quietLists(warehouse, db, options, nowMicros)).length,
      quarantine: await quarantined(db),
      drift: await drifted(db),
      incidents: await incidentKinds(options, db),
      leaseSeconds: Math.max(0, Number(nowMicros - since) / 1e6),
      rates: sharesRates ? await sharedRates(db, nowMicros) : [],
    }
  })
}

async function readCursorGauges(
  db: Db,
  options: GaugesOptions,
  rule: HealthRule,
): Promise<Pick<WarehouseGauges, 'states' | 'deletesUnchecked' | 'times'>> {
  const { resources, maxTenants } = options
  const counts = new Map(cursorStates.map((state) => [state, 0]))
  const count = (state: CursorHealth['state'], by: number): void =>
    void counts.set(state, (counts.get(state) ?? 0) + by)
  const tenants = tenantStandings(await tenantRows(db).execute(), options)
  const wanted = tenants.filter(({ revoked_at, excepted }) => revoked_at === null && !excepted)
  count('excepted', tenants.filter(({ excepted }) => excepted).length * resources.length)
  count('revoked', tenants.filter(isLostTenant).length * resources.length)
  const groups = await alikeCursors(db, options, overdueFor(rule))
  for (const group of groups) count(cursorState(group, rule), Number(group.amount))
  const begun = groups.reduce((sum, { amount }) => sum + Number(amount), 0)
  count(cursorState(undefined, rule), wanted.length * resources.length - begun)
  const unchecked = groups.filter((group) => uncheckedSince(group, rule) !== null)
  return {
    states: counts,
    deletesUnchecked: unchecked.reduce((sum, { amount }) => sum + Number(amount), 0),
    times: wanted.length <= maxTenants ? await tenantTimes(db, options) : oldestTimes(groups),
  }
}

const tenantTimes = (db: Db, options: GaugesOptions): Promise<CursorTimes[]> =>
  listCursors(readerOf(db), ['watermark', 'last_success_at'], { wanted: options })

/** The oldest time of all tenants, for each resource. */
function oldestTimes(groups: readonly CursorTimes[]): CursorTimes[] {
  const oldest = new Map<string, CursorTimes>()
  for (const { resource, watermark, last_success_at } of groups) {
    const known = oldest.get(resource)
    oldest.set(resource, {
      resource,
      watermark: earlier(known?.watermark ?? null, watermark),
      last_success_at: earlier(known?.last_success_at ?? null, last_success_at),
    })
  }
  return [...oldest.values()]
}

const earlier = (a: string | null, b: string | null): string | null =>
  a === null || (b !== null && b < a) ? b : a

async function quarantined(db: Db): Promise<WarehouseGauges['quarantine']> {
  const rows = await db
    .selectFrom('sync_quarantine')
    .select((eb) => ['resource', eb.fn.countAll<Int64>().as('amount')])
    .groupBy('resource')
    .execute()
  return rows.map(({ resource, amount }) => ({ resource, amount: Number(amount) }))
}

/** Where there are new fields and values, but never the values: they are customer data. */
async function drifted(db: Db): Promise<WarehouseGauges['drift']> {
  const rows = await db
    .selectFrom('sync_drift')
    .select((eb) => ['resource', 'kind', eb.fn.countAll<Int64>().as('amount')])
    .groupBy(['resource', 'kind'])
    .execute()
  return rows.map(({ resource, kind, amount }) => ({ resource, kind, amount: Number(amount) }))
}

/** By our clock, which is close enough: a window that is over for a moment shows nothing wrong. */
async function sharedRates(db: Db, nowMicros: bigint): Promise<WarehouseGauges['rates']> {
  const rows = await db
    .selectFrom('sync_rate')
    .selectAll()
    .where('resets_at', '>', Number(nowMicros / 1_000_000n))
    .execute()
  return rows.map(({ rule, limit, taken }) => ({
    rule,
    left: Math.max(0, Number(limit ?? 0) - Number(taken ?? 0)),
  }))
}

/** Uses the same query as `status`: both agree on what is open. */
async function incidentKinds({ warehouse, tenants }: GaugesOptions, db: Db): Promise<Map<string, number>> {
  const shown = alertKinds.filter((kind) => !isSuspicion(kind))
  const kinds = new Map<string, number>(shown.map((kind) => [kind, 0]))
  for (const { kind } of await openIncidents(warehouse, db, { tenants, resources: null }))
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  return kinds
}
