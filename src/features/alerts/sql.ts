/*
 * The reads and statements of sync_alerts, and of what alerts are found by. Every transaction on incidents locks one row
 * first: two runs that end at the same moment must not tell the same twice. Used by src/features/alerts/work.ts.
 */
import type { CompiledQuery, Selectable } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { RowsOf } from '../../engine/model/statetable.js'
import { type Db, readJson } from '../../engine/warehouse/database.js'
import { bySeq, ofRuns } from '../../engine/warehouse/runs.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type alertTables, withAlerts } from './tables.js'

type Stored = Selectable<RowsOf<typeof alertTables>['sync_alerts']>

/** When a rule was told of an incident; `claimed`: since when a process is about to tell it. */
export interface Telling {
  readonly opened?: string
  readonly resolved?: string
  readonly claimed?: string
}

export type AlertRow = Omit<Stored, 'told'> & {
  /** By rule. */
  readonly told: Readonly<Record<string, Telling>>
}

/** In sync_meta: from when on incidents are kept, and which drift was looked at. */
export interface AlertMark {
  /** Quarantine and drift of before are no news. */
  readonly since: string
  /** Drift first seen up to then was looked at. */
  readonly driftThrough: string
  /** Resources that some cursor has read whole: what is new in them is news. */
  readonly resources: readonly string[]
}

const markName = 'alerts'
const rowsAtOnce = 50

/** Runs work on incidents that no other process does at the same time. */
export const onIncidents = <T>(
  warehouse: Warehouse,
  work: (session: Session, mark: AlertMark | null) => Promise<T>,
): Promise<T> =>
  warehouse.transaction(async (session) => {
    const { db } = warehouse
    const row = { name: markName, value: null }
    await session.run(
      db
        .insertInto('sync_meta')
        .values(row)
        .onConflict((c) => c.doNothing())
        .compile(),
    )
    // The update changes nothing, but locks the row.
    const lock = db.updateTable('sync_meta').set({ name: markName }).where('name', '=', markName)
    await session.run(lock.compile())
    const found = await session.run(
      db.selectFrom('sync_meta').select('value').where('name', '=', markName).compile(),
    )
    const value = found.rows[0]?.value
    return work(session, value ? (JSON.parse(value) as AlertMark) : null)
  })

export const storeMark = (db: Db, mark: AlertMark): CompiledQuery =>
  db
    .updateTable('sync_meta')
    .set({ value: JSON.stringify(mark) })
    .where('name', '=', markName)
    .compile()

const asStored = (row: Stored): AlertRow => ({
  ...row,
  told: (readJson(row.told) ?? {}) as AlertRow['told'],
})

/** All incidents that are open, the oldest first. */
export async function openIncidentRows(db: Db): Promise<AlertRow[]> {
  const open = withAlerts(db).selectFrom('sync_alerts').selectAll().where('resolved_at', 'is', null)
  return (await open.orderBy('since').orderBy('tenant_id').orderBy('resource').execute()).map(asStored)
}

/** The incidents of a tenant that are open. */
export const openIncidentsOf = (warehouse: Warehouse, tenantId: Int64): Promise<AlertRow[]> =>
  warehouse.read(async (db) => {
    const open = withAlerts(db).selectFrom('sync_alerts').selectAll().where('tenant_id', '=', tenantId)
    return (await open.where('resolved_at', 'is', null).execute()).map(asStored)
  })

/** The incidents that are open, and those that were over no longer ago than that. */
export async function incidentsSince(db: Db, session: Session, moment: string): Promise<AlertRow[]> {
  const query = withAlerts(db)
    .selectFrom('sync_alerts')
    .selectAll()
    .where((eb) => eb.or([eb('resolved_at', 'is', null), eb('resolved_at', '>=', moment)]))
    .orderBy('opened_at')
  const { rows } = await session.run(query.compile())
  return rows.map(asStored)
}

/** Stores incidents, in place of what was stored of them. */
export function storeIncidents(db: Db, rows: readonly AlertRow[]): CompiledQuery[] {
  const values = rows.map((row) => ({ ...row, told: JSON.stringify(row.told) }))
  const parts = Array.from({ length: Math.ceil(values.length / rowsAtOnce) }, (_, i) =>
    values.slice(i * rowsAtOnce, (i + 1) * rowsAtOnce),
  )
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

/** Forgets incidents that were over before that. */
export const forgetIncidents = (db: Db, before: string): CompiledQuery =>
  withAlerts(db).deleteFrom('sync_alerts').where('resolved_at', '<', before).compile()

/** What is in quarantine and was not before that moment, by cursor. */
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

/** Drift that was first seen after a moment and up to another. */
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

/** The state of every cursor, as far as incidents follow from it. */
export const cursorStates = async (db: Db, session: Session) => {
  const query = db
    .selectFrom('sync_cursors')
    .select([
      'tenant_id',
      'resource',
      'status',
      'reason',
      'last_error',
      'last_success_at',
      'deletes_checked_at',
    ])
  return (await session.run(query.compile())).rows
}

export const tenantStates = async (db: Db, session: Session) =>
  (await session.run(db.selectFrom('tenants').select(['tenant_id', 'revoked_at']).compile())).rows

/** The runs that were recorded last, and the last stamp of all that ended. */
export async function newestRuns(db: Db, session: Session) {
  const newest = db
    .selectFrom('sync_runs')
    .select(['run_id', 'job', 'mode', 'status', 'started_at', 'finished_at'])
    .where(ofRuns)
    .orderBy(bySeq, 'desc')
    .orderBy('started_at', 'desc')
    .limit(10)
  const ended = db
    .selectFrom('sync_runs')
    // Runs of older versions ended with their last stamp.
    .select((eb) => eb.fn.max<string | null>(eb.fn.coalesce('stamped_until', 'finished_at')).as('at'))
  const [runs, last] = [await session.run(newest.compile()), await session.run(ended.compile())]
  return { runs: runs.rows, lastStamp: last.rows[0]?.at ?? null }
}
