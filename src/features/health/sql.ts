/*
 * The queries and statements on sync_alerts, and those that find incidents. Every transaction on incidents first locks
 * one row, so two runs that end at the same moment don't report the same incident twice. Used by
 * src/features/health/tellrules.ts.
 */
import type { CompiledQuery, Selectable } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { inParts } from '../../engine/base/parts.js'
import type { RowsOf } from '../../engine/model/statetable.js'
import { type Db, readJson } from '../../engine/warehouse/database.js'
import { lastSuccesses } from '../../engine/warehouse/state/cursors.js'
import { lockMeta, storeMeta } from '../../engine/warehouse/state/meta.js'
import { lastStamp, runQuery } from '../../engine/warehouse/state/runs.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import type { KeptIncident } from './incident.js'
import { type alertTables, withAlerts } from './tables.js'

/** In sync_meta: since when incidents are kept, and how far drift was looked at. */
export interface AlertMark {
  /** Earlier quarantine and drift is not news. */
  readonly since: string
  /** Drift first seen up to this moment was looked at. */
  readonly driftThrough: string
  /** The same for the tenants of a shard, by its name, where shards were at work since; `whole`: for what has no tenant. */
  readonly shards?: Readonly<Record<string, string>>
  /** Resources that some cursor has read completely: anything new in them is news. */
  readonly resources: readonly string[]
}

const markName = 'alerts'
const rowsAtOnce = 50

/** Runs work on incidents while no other process can. */
export const onIncidents = <T>(
  warehouse: Writer,
  work: (session: Session, mark: AlertMark | null) => Promise<T>,
): Promise<T> =>
  warehouse.transaction(async (session) => {
    const value = await lockMeta(session, warehouse.db, markName)
    return work(session, value ? (JSON.parse(value) as AlertMark) : null)
  })

export const storeMark = (db: Db, mark: AlertMark): CompiledQuery =>
  storeMeta(db, markName, JSON.stringify(mark))

/** In the table, 0 and the empty resource stand for all of them: they are part of its key. */
const keptOf = ({
  tenant_id,
  resource,
  ...row
}: Selectable<RowsOf<typeof alertTables>['sync_alerts']>): KeptIncident => ({
  ...row,
  tenant_id: Number(tenant_id) === 0 ? null : tenant_id,
  resource: resource === '' ? null : resource,
  kind: row.kind as KeptIncident['kind'],
  message: row.message ?? '',
  advice: row.advice ?? '',
  lasts: (row.lasts ?? 'state') as KeptIncident['lasts'],
  told: (readJson(row.told) ?? {}) as KeptIncident['told'],
})

const storedOf = ({ tenant_id, resource, told, ...incident }: KeptIncident) => ({
  ...incident,
  tenant_id: tenant_id ?? 0,
  resource: resource ?? '',
  told: JSON.stringify(told),
})

/** All open incidents, oldest first. */
export async function openIncidentRows(db: Db): Promise<KeptIncident[]> {
  const open = withAlerts(db).selectFrom('sync_alerts').selectAll().where('resolved_at', 'is', null)
  return (await open.orderBy('since').orderBy('tenant_id').orderBy('resource').execute()).map(keptOf)
}

/** The tenant's open incidents. */
export const openIncidentsOf = (warehouse: Warehouse, tenantId: Int64): Promise<KeptIncident[]> =>
  warehouse.read(async (db) => {
    const open = withAlerts(db).selectFrom('sync_alerts').selectAll().where('tenant_id', '=', tenantId)
    return (await open.where('resolved_at', 'is', null).execute()).map(keptOf)
  })

/** The open incidents, and those resolved since that moment. */
export async function incidentsSince(db: Db, session: Session, moment: string): Promise<KeptIncident[]> {
  const query = withAlerts(db)
    .selectFrom('sync_alerts')
    .selectAll()
    .where((eb) => eb.or([eb('resolved_at', 'is', null), eb('resolved_at', '>=', moment)]))
    .orderBy('opened_at')
  const { rows } = await session.run(query.compile())
  return rows.map(keptOf)
}

/** Stores incidents, replacing earlier versions of them. */
export function storeIncidents(db: Db, rows: readonly KeptIncident[]): CompiledQuery[] {
  const values = rows.map(storedOf)
  const parts = [...inParts(values, rowsAtOnce)]
  const changing = [
    'cause',
    'message',
    'advice',
    'run_id',
    'lasts',
    'opened_at',
    'resolved_at',
    'told',
  ] as const
  return parts.map((part) =>
    withAlerts(db)
      .insertInto('sync_alerts')
      .values(part)
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'resource', 'kind', 'since'])
          .doUpdateSet((eb) =>
            Object.fromEntries(changing.map((name) => [name, eb.ref(`excluded.${name}`)])),
          ),
      )
      .compile(),
  )
}

/** Deletes incidents resolved before that moment. */
export const forgetIncidents = (db: Db, before: string): CompiledQuery =>
  withAlerts(db).deleteFrom('sync_alerts').where('resolved_at', '<', before).compile()

/** What entered quarantine since that moment, by cursor. */
export async function quarantineOf(
  db: Db,
  session: Session,
  from: string,
): Promise<{ tenant_id: Int64; resource: string; amount: number; first: string }[]> {
  const query = db
    .selectFrom('sync_quarantine')
    .select((eb) => [
      'tenant_id',
      'resource',
      eb.fn.countAll<Int64>().as('amount'),
      eb.fn.min<string>('first_seen_at').as('first'),
    ])
    .where('first_seen_at', '>=', from)
    .groupBy(['tenant_id', 'resource'])
  const { rows } = await session.run(query.compile())
  return rows.map((row) => ({ ...row, amount: Number(row.amount) }))
}

/** Drift first seen after one moment and up to another. */
export const driftBetween = async (
  db: Db,
  session: Session,
  { after, through }: { readonly after: string; readonly through: string },
) => {
  const query = db
    .selectFrom('sync_drift')
    .select(['tenant_id', 'resource', 'path', 'kind', 'first_seen_at'])
    .where('first_seen_at', '>', after)
    .where('first_seen_at', '<=', through)
    .orderBy('first_seen_at')
  return (await session.run(query.compile())).rows
}

/** The resources that have cursors, and whether any of them was read whole. */
export async function resourcesRead(db: Db, session: Session): Promise<ReadonlyMap<string, boolean>> {
  const { rows } = await session.run(lastSuccesses(db).compile())
  return new Map(rows.map(({ resource, at }) => [resource, at !== null]))
}

/** The most recent runs, and the last stamp of all finished ones; with `shard`, of that shard. */
export async function newestRuns(db: Db, session: Session, shard?: string) {
  const runs = await session.run(runQuery(db, { shard, withEvents: false }).limit(10).compile())
  const last = await session.run(lastStamp(db, shard).compile())
  return { runs: runs.rows, lastStamp: last.rows[0]?.at ?? null }
}
