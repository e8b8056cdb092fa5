/*
 * The outcome of each change: whether it was in the warehouse within its target. A change's delay is the source's
 * `Date` in the response that contained it, minus its `updated_at`: a single clock.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { addMicros } from '../../engine/base/timestamp.js'
import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import type { Arrived, Run } from '../../engine/run/tenant.js'
import type { Db } from '../../engine/warehouse/database.js'
import { addToCounters } from '../../engine/warehouse/state/counters.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { Announcements, type InboxNeeds } from './announced.js'
import { withDelays } from './tables.js'

/** What the runs of a command store about each poll. */
export const countingDelays = async (
  settings: FreshnessSettings,
  context: InboxNeeds,
  warehouse: Warehouse,
): Promise<NonNullable<Run['arrived']>> => {
  const { keep } = context.config.history
  return countDelays(settings, { announcements: await Announcements.there(context, warehouse), keep })
}

/** Counts each change by its target. */
function countDelays(
  { targetOf, own }: Pick<FreshnessSettings, 'targetOf' | 'own'>,
  {
    announcements,
    keep,
  }: {
    readonly announcements?: Announcements | undefined
    /** `history.keep`: older hours are removed. In milliseconds. */
    readonly keep?: number
  } = {},
): NonNullable<Run['arrived']> {
  const pruned = new Set<string>()
  const prune = (db: Db, resource: string, now: string): CompiledQuery[] => {
    if (keep === undefined || pruned.has(resource)) return []
    pruned.add(resource)
    return removeDelays(db, resource, addMicros(now, BigInt(-keep) * 1000n))
  }
  return async (cursor, { delays, first }): Promise<Arrived> => {
    const resource = cursor.resource.name
    const { tenantId } = cursor.key
    const target = targetOf(resource, tenantId)
    const isOwn = own?.targetOf(resource, tenantId) !== undefined
    const hour = `${cursor.now().slice(0, 13)}:00:00.000000Z`
    const met = delays.filter((delay) => delay <= (target ?? 0)).length
    const counted = { resource, hour, met, missed: delays.length - met }
    const { db } = cursor.warehouse
    const entered = isOwn ? addTenantDelays(db, { tenant_id: tenantId, ...counted }) : addDelays(db, counted)
    return {
      unannounced: announcements ? await announcements.lacking(cursor, first) : first.length,
      statements:
        target === undefined ? [] : [entered, ...addTotals(db, counted), ...prune(db, resource, hour)],
    }
  }
}

const removeDelays = (db: Db, resource: string, before: string): CompiledQuery[] =>
  (['sync_delays', 'sync_tenant_delays'] as const).map((table) =>
    withDelays(db).deleteFrom(table).where('resource', '=', resource).where('hour', '<', before).compile(),
  )

/** Adds to a resource's hour. */
const addDelays = (
  db: Db,
  delays: {
    readonly resource: string
    readonly hour: string
    readonly met: number
    readonly missed: number
  },
): CompiledQuery =>
  withDelays(db)
    .insertInto('sync_delays')
    .values(delays)
    .onConflict((conflict) =>
      conflict.columns(['resource', 'hour']).doUpdateSet((eb) => ({
        met: eb('sync_delays.met', '+', eb.ref('excluded.met')),
        missed: eb('sync_delays.missed', '+', eb.ref('excluded.missed')),
      })),
    )
    .compile()

/** Adds to the hour of a list with a target of its own. */
const addTenantDelays = (
  db: Db,
  delays: Parameters<typeof addDelays>[1] & { readonly tenant_id: Int64 },
): CompiledQuery =>
  withDelays(db)
    .insertInto('sync_tenant_delays')
    .values(delays)
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'resource', 'hour']).doUpdateSet((eb) => ({
        met: eb('sync_tenant_delays.met', '+', eb.ref('excluded.met')),
        missed: eb('sync_tenant_delays.missed', '+', eb.ref('excluded.missed')),
      })),
    )
    .compile()

/** Adds to a resource's totals for the metrics. */
function addTotals(db: Db, { resource, met, missed }: Parameters<typeof addDelays>[1]): CompiledQuery[] {
  const totals = [
    { met: 'true', value: met },
    { met: 'false', value: missed },
  ].filter(({ value }) => value > 0)
  const entries = totals.map((total) => ({
    metric: 'shopsync_changes_total',
    part: '',
    value: total.value,
    labels: { resource, met: total.met },
  }))
  return addToCounters(db, entries)
}

/** The outcome of changes since that hour: by resource, and by list for tenants with targets of their own. */
export async function delaysSince(
  warehouse: Pick<Warehouse, 'has' | 'read'>,
  hour: string,
): Promise<{ resource: string; tenant_id?: Int64 | undefined; met: number; missed: number }[]> {
  const read = <T>(work: (db: ReturnType<typeof withDelays>) => Promise<T>): Promise<T> =>
    warehouse.read((db) => work(withDelays(db)))
  const rows = await read((db) =>
    db
      .selectFrom('sync_delays')
      .where('hour', '>=', hour)
      .groupBy('resource')
      .select('resource')
      .select((eb) => [eb.fn.sum<number>('met').as('met'), eb.fn.sum<number>('missed').as('missed')])
      .execute(),
  )
  // A warehouse that nothing has brought up to date yet lacks the table.
  const own = (await warehouse.has('sync_tenant_delays'))
    ? await read((db) =>
        db
          .selectFrom('sync_tenant_delays')
          .where('hour', '>=', hour)
          .groupBy(['tenant_id', 'resource'])
          .select(['tenant_id', 'resource'])
          .select((eb) => [eb.fn.sum<number>('met').as('met'), eb.fn.sum<number>('missed').as('missed')])
          .execute(),
      )
    : []
  return [...rows, ...own].map((row) => ({ ...row, met: Number(row.met), missed: Number(row.missed) }))
}
