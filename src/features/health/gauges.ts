/*
 * The metrics of a warehouse's current state, from its own tables, without counting rows, since they are requested
 * every few seconds. Used by src/features/health/metrics.ts.
 */
import type { Int64 } from '../../../schema/resource.js'
import { clocksApartMs } from '../../engine/base/format.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import { readHolder, runningMs } from '../../engine/run/lastrun.js'
import type { Db } from '../../engine/warehouse/database.js'
import { wantedCursors } from '../../engine/warehouse/wantedcursors.js'
import { alertKinds } from './alertsettings.js'
import { type CursorStatus, cursorStateOf } from './cursorhealth.js'
import { openIncidents } from './openincidents.js'
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
  readonly tenantId?: Int64
  readonly resource: string
  readonly watermark: string | null
  /** End of the last complete walk. */
  readonly provenAt: string | null
}

export interface WarehouseGauges {
  /** How many cursors are in each state. */
  readonly states: ReadonlyMap<CursorStatus['state'], number>
  /** Cursors whose deletions were not checked for a long time. */
  readonly deletesUnchecked: number
  /** For tenants that are granted and wanted. */
  readonly times: readonly CursorTimes[]
  /** Values, items and records in quarantine. */
  readonly quarantine: readonly { readonly resource: string; readonly amount: number }[]
  readonly drift: readonly { readonly resource: string; readonly kind: string; readonly amount: number }[]
  /** Open incidents, by kind. */
  readonly incidents: ReadonlyMap<string, number>
  /** For how many seconds the writing run has held the lock; 0 if there is none. */
  readonly leaseSeconds: number
}

/** Read-only. */
export function readGauges(options: GaugesOptions): Promise<WarehouseGauges> {
  const { warehouse, nowMicros } = options
  return warehouse.read(async (db) => {
    const holder = await readHolder(db, nowMicros)
    const running = runningMs(holder, nowMicros)
    const since = holder?.since ? toMicros(holder.since) : nowMicros
    return {
      ...(await readCursorGauges(db, { ...options, runningMs: running })),
      quarantine: await quarantined(db),
      drift: await drifted(db),
      incidents: await incidentKinds(options, db),
      leaseSeconds: Math.max(0, Number(nowMicros - since) / 1e6),
    }
  })
}

const states: readonly CursorStatus['state'][] = [
  'ok',
  'stale',
  'failed',
  'unproven',
  'unavailable',
  'never',
  'loading',
  'revoked',
  'excepted',
]

type CursorGauges = Pick<WarehouseGauges, 'states' | 'deletesUnchecked' | 'times'>

/** `runningMs`: see there. */
interface CursorsAsked extends GaugesOptions {
  readonly runningMs: number | null
}

async function readCursorGauges(db: Db, options: CursorsAsked): Promise<CursorGauges> {
  const { resources, maxTenants } = options
  const counts = new Map(states.map((state) => [state, 0]))
  const count = (state: CursorStatus['state'], by: number): void =>
    void counts.set(state, (counts.get(state) ?? 0) + by)
  const tenants = await standings(db, options)
  const wanted = tenants.filter(({ standing }) => standing === 'wanted')
  for (const { standing } of tenants) if (standing !== 'wanted') count(standing, resources.length)
  const groups = await groupedCursors(db, options)
  let begun = 0
  for (const { amount, age, status, completeness } of groups) {
    const since = age === ages.never ? null : age === ages.stale ? 'unknown' : 0
    count(cursorStateOf({ status, completeness }, since, options), Number(amount))
    begun += Number(amount)
  }
  count(cursorStateOf(undefined, null, options), wanted.length * resources.length - begun)
  const unchecked = groups.filter((group) => Number(group.unchecked) === 1)
  return {
    states: counts,
    deletesUnchecked: unchecked.reduce((sum, { amount }) => sum + Number(amount), 0),
    times: wanted.length <= maxTenants ? await tenantTimes(db, options) : oldestTimes(groups),
  }
}

/**
 * How long ago a cursor's last complete walk ended. If a wrong clock put it in the future, it counts as too long ago.
 */
const ages = { never: 0, lately: 1, stale: 2 } as const

/** The database counts: reading ten thousand rows would take longer than everything else. */
async function groupedCursors(db: Db, options: CursorsAsked) {
  const { nowMicros, deletesUncheckedAfterMs } = options
  const staleAfterMs = Math.max(options.staleAfterMs, options.runningMs ?? 0)
  const ago = (milliseconds: number): string => fromMicros(nowMicros - BigInt(milliseconds) * 1000n)
  const rows = await wantedCursors(db, options)
    .select((eb) => [
      'resource',
      'status',
      'completeness',
      eb
        .case()
        .when('last_success_at', 'is', null)
        .then(eb.lit(ages.never))
        .when('last_success_at', '<', ago(staleAfterMs))
        .then(eb.lit(ages.stale))
        .when('last_success_at', '>', ago(-clocksApartMs))
        .then(eb.lit(ages.stale))
        .else(eb.lit(ages.lately))
        .end()
        .as('age'),
      eb
        .case()
        .when('deletes_checked_at', '<', ago(deletesUncheckedAfterMs))
        .then(eb.lit(1))
        .when('deletes_checked_at', '>', ago(-clocksApartMs))
        .then(eb.lit(1))
        .else(eb.lit(0))
        .end()
        .as('unchecked'),
      eb.fn.countAll<Int64>().as('amount'),
      eb.fn.min<string | null>('watermark').as('watermark'),
      eb.fn.min<string | null>('last_success_at').as('provenAt'),
    ])
    .groupBy(['resource', 'status', 'completeness', 'age', 'unchecked'])
    .execute()
  return rows.map((row) => ({ ...row, age: Number(row.age) }))
}

async function tenantTimes(db: Db, options: GaugesOptions): Promise<CursorTimes[]> {
  const rows = await wantedCursors(db, options)
    .select(['tenant_id', 'resource', 'watermark', 'last_success_at'])
    .orderBy('tenant_id')
    .orderBy('resource')
    .execute()
  return rows.map(({ tenant_id: tenantId, resource, watermark, last_success_at: provenAt }) => ({
    ...{ tenantId, resource, watermark, provenAt },
  }))
}

/** The oldest time of all tenants, for each resource. */
function oldestTimes(groups: readonly CursorTimes[]): CursorTimes[] {
  const oldest = new Map<string, CursorTimes>()
  for (const { resource, watermark, provenAt } of groups) {
    const known = oldest.get(resource)
    oldest.set(resource, {
      resource,
      watermark: earlier(known?.watermark ?? null, watermark),
      provenAt: earlier(known?.provenAt ?? null, provenAt),
    })
  }
  return [...oldest.values()]
}

const earlier = (a: string | null, b: string | null): string | null =>
  a === null || (b !== null && b < a) ? b : a

/** The tenants that the configuration doesn't leave out, and whether each is walked. */
async function standings(db: Db, { tenants, exceptTenants }: GaugesOptions) {
  const rows = await db
    .selectFrom('tenants')
    .select(['tenant_id', 'revoked_at'])
    .orderBy('tenant_id')
    .execute()
  return rows
    .filter(({ tenant_id }) => tenants?.includes(tenant_id) ?? true)
    .map(({ tenant_id, revoked_at }) => {
      const isLost = revoked_at !== null
      const standing = exceptTenants.includes(tenant_id) ? 'excepted' : isLost ? 'revoked' : 'wanted'
      return { tenant_id, standing } as const
    })
}

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

/** Uses the same query as `status`: both agree on what is open. */
async function incidentKinds({ warehouse, tenants }: GaugesOptions, db: Db): Promise<Map<string, number>> {
  const kinds = new Map<string, number>(alertKinds.map((kind) => [kind, 0]))
  for (const { kind } of await openIncidents(warehouse, db, { tenants, resources: null }))
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  return kinds
}
