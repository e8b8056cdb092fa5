/*
 * What the metrics tell of a warehouse as it is now, from its own tables: without counting rows, since they are asked for
 * every few seconds. Used by src/service/metrics.ts.
 */
import type { Int64 } from '../../../schema/resource.js'
import { fromMicros, toMicros } from '../../timestamp.js'
import type { Db } from '../../warehouse/database.js'
import { readHolder } from './lastrun.js'
import { type CursorStatus, cursorStateOf, type StatusOptions } from './status.js'

export type GaugesOptions = Pick<
  StatusOptions,
  | 'warehouse'
  | 'resources'
  | 'tenants'
  | 'exceptTenants'
  | 'staleAfterMs'
  | 'deletesUncheckedAfterMs'
  | 'nowMicros'
>

/** A cursor that is to be synced. */
export interface CursorGauge {
  readonly tenantId: Int64
  readonly resource: string
  readonly watermark: string | null
  /** End of the last complete walk. */
  readonly provenAt: string | null
}

export interface WarehouseGauges {
  /** How many cursors are in each state. */
  readonly states: ReadonlyMap<CursorStatus['state'], number>
  /** Cursors whose deletions were not looked for in a long time. */
  readonly deletesUnchecked: number
  /** Of tenants that are granted and wanted. */
  readonly cursors: readonly CursorGauge[]
  /** Values, items and records in quarantine. */
  readonly quarantine: readonly { readonly resource: string; readonly amount: number }[]
  readonly drift: readonly { readonly resource: string; readonly kind: string; readonly amount: number }[]
  /** Seconds for which the run that writes has held the lock; 0 where none does. */
  readonly leaseSeconds: number
}

/** Reads only. */
export function readGauges(options: GaugesOptions): Promise<WarehouseGauges> {
  const { warehouse, nowMicros } = options
  return warehouse.read(async (db) => {
    const holder = await readHolder(db, nowMicros)
    const since = holder?.since ? toMicros(holder.since) : nowMicros
    return {
      ...(await readCursorGauges(db, options)),
      quarantine: await quarantined(db),
      drift: await drifted(db),
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
  'revoked',
  'excepted',
]

async function readCursorGauges(
  db: Db,
  options: GaugesOptions,
): Promise<Pick<WarehouseGauges, 'states' | 'deletesUnchecked' | 'cursors'>> {
  const { resources, nowMicros, staleAfterMs, deletesUncheckedAfterMs } = options
  const rows = await db
    .selectFrom('sync_cursors')
    .select([
      'tenant_id',
      'resource',
      'status',
      'completeness',
      'watermark',
      'last_success_at',
      'deletes_checked_at',
    ])
    .execute()
  const byName = new Map(rows.map((row) => [`${row.tenant_id} ${row.resource}`, row]))
  // Ten thousand texts are compared more quickly than parsed.
  const ago = (milliseconds: number): string => fromMicros(nowMicros - BigInt(milliseconds) * 1000n)
  const [staleBefore, uncheckedBefore] = [ago(staleAfterMs), ago(deletesUncheckedAfterMs)]
  const counts = new Map(states.map((state) => [state, 0]))
  const count = (state: CursorStatus['state'], by = 1): void =>
    void counts.set(state, (counts.get(state) ?? 0) + by)
  const cursors: CursorGauge[] = []
  let deletesUnchecked = 0
  for (const { tenant_id, standing } of await standings(db, options)) {
    if (standing !== 'wanted') {
      count(standing, resources.length)
      continue
    }
    for (const resource of resources) {
      const row = byName.get(`${tenant_id} ${resource}`)
      const last = row?.last_success_at ?? null
      const age = last === null ? null : last < staleBefore ? Number.POSITIVE_INFINITY : 0
      count(cursorStateOf(row, age, staleAfterMs))
      const checked = row?.deletes_checked_at ?? null
      if (checked !== null && checked < uncheckedBefore) deletesUnchecked++
      cursors.push({ tenantId: tenant_id, resource, watermark: row?.watermark ?? null, provenAt: last })
    }
  }
  return { states: counts, deletesUnchecked, cursors }
}

/** The tenants that the configuration does not leave out, and whether each is walked. */
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

/** Where fields and values are new, never what they are: values are a customer's data. */
async function drifted(db: Db): Promise<WarehouseGauges['drift']> {
  const rows = await db
    .selectFrom('sync_drift')
    .select((eb) => ['resource', 'kind', eb.fn.countAll<Int64>().as('amount')])
    .groupBy(['resource', 'kind'])
    .execute()
  return rows.map(({ resource, kind, amount }) => ({ resource, kind, amount: Number(amount) }))
}
