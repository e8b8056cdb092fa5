/*
 * What runs have changed since an entry of `then` was last told, from the record of runs: runs that were killed, and those
 * whose telling failed, are in it as well.
 */
import type { ExpressionBuilder } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { type Verdict, worstFirst } from '../../engine/list/verdict.js'
import { type Database, type Db, rootTable } from '../../engine/warehouse/database.js'
import { listCursors, rowName } from '../../engine/warehouse/state/cursors.js'
import { requestsOf } from '../../engine/warehouse/state/requests.js'
import { changedBy, verdictsOf } from '../../engine/warehouse/state/runcursors.js'
import { eventsMode, lastRecorded, runIds } from '../../engine/warehouse/state/runs.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { Rung } from './told.js'

/** One list of one tenant that has changed. */
interface ChangedList {
  readonly tenant_id: Int64
  readonly resource: string
  readonly rows_upserted: number
  readonly rows_deleted: number
}

export interface Changes {
  readonly lists: readonly ChangedList[]
  /** The worst verdict on a list that was read; null if none was. */
  readonly worst: Verdict | null
  /** Up to when all of the changed lists are complete; null if one of them isn't up to any instant. */
  readonly completeThrough: string | null
  /** The last hour of rings in the range. undefined while some of its rows are stamped later than the range ends. */
  readonly rung: Rung | undefined
}

/** The last hour in which events rang, with what it has counted so far. */
export async function lastRung(
  warehouse: Warehouse,
  from: string | null = null,
): Promise<(Rung & { readonly stampedUntil: string | null }) | undefined> {
  const row = await lastRecorded(warehouse, { mode: eventsMode, where: isSince(from) })
  if (!row) return undefined
  const { run_id, stamped_until: stampedUntil } = row
  return { run_id, stampedUntil, rows: Number(row.rows_upserted ?? 0) + Number(row.rows_deleted ?? 0) }
}

type OfRuns = ExpressionBuilder<Database, 'sync_runs'>

/** The runs that may have rows stamped since an instant; null: all runs. */
const isSince = (from: string | null) => (eb: OfRuns) =>
  from === null ? eb.lit(true) : eb('stamped_until', '>=', from)

/** A run that threw, or was killed, has not recorded all of its lists. */
const isUnsure = ({ or, eb }: OfRuns) => or([eb('finished_at', 'is', null), eb('error', 'is not', null)])

/**
 * Runs that have ended since the range did belong to the next one. Not an hour of rings, whose row grows while a listener
 * is at work: what it rang is told at once, and again when the range has reached it.
 */
const endedBefore =
  (through: string) =>
  ({ or, eb }: OfRuns) =>
    or([eb('stamped_until', 'is', null), eb('stamped_until', '<', through), eb('mode', '=', eventsMode)])

const countsOf = (lists: readonly ChangedList[]): NonNullable<Rung['lists']> =>
  Object.fromEntries(lists.map((list) => [rowName(list), [list.rows_upserted, list.rows_deleted]]))

/** `from` (null: the beginning), `through`: the range. `known`: what rings were told before. */
export async function readChanges(
  warehouse: Warehouse,
  {
    from,
    through,
    known,
  }: { readonly from: string | null; readonly through: string; readonly known: Rung | undefined },
): Promise<Changes> {
  const rung = await lastRung(warehouse, from)
  const isSameHour = rung !== undefined && rung.run_id === known?.run_id
  const told = isSameHour && rung.rows === known?.rows ? rung.run_id : ''
  const fresh = (db: Db) =>
    runIds(db, {
      where: (eb) => eb.and([isSince(from)(eb), eb('run_id', '!=', told), endedBefore(through)(eb)]),
    })
  const found = new Map<string, ChangedList>()
  const add = (list: ChangedList): void => {
    const before = found.get(rowName(list))
    found.set(rowName(list), {
      ...list,
      // Lists that an unsure run did record are counted in both ways.
      rows_upserted: Math.max(list.rows_upserted, before?.rows_upserted ?? 0),
      rows_deleted: Math.max(list.rows_deleted, before?.rows_deleted ?? 0),
    })
  }
  const { changed, hour, verdicts, isAnyUnsure } = await warehouse.read(async (db) => ({
    // The hour first: what is added to it in between is then told twice, and not never.
    hour: rung ? await changedBy(db, [rung.run_id]) : [],
    changed: await changedBy(db, fresh(db)),
    verdicts: await verdictsOf(db, fresh(db)),
    isAnyUnsure: (await fresh(db).where(isUnsure).limit(1).execute()).length > 0,
  }))
  for (const list of changed) add(list)
  if (isAnyUnsure) for (const list of await unsureLists(warehouse, from, fresh)) add(list)
  const before = isSameHour && told === '' ? (known?.lists ?? {}) : {}
  const lists = [...found.values()].flatMap((list): ChangedList[] => {
    const [upserted, deleted] = before[rowName(list)] ?? [0, 0]
    const [rows_upserted, rows_deleted] = [list.rows_upserted - upserted, list.rows_deleted - deleted]
    return rows_upserted > 0 || rows_deleted > 0 ? [{ ...list, rows_upserted, rows_deleted }] : []
  })
  return {
    lists,
    rung:
      rung && (rung.stampedUntil ?? '') < through
        ? { run_id: rung.run_id, rows: rung.rows, lists: countsOf(hour) }
        : undefined,
    worst: worstFirst.find((verdict) => verdicts.has(verdict)) ?? null,
    completeThrough: await completeThrough(warehouse, lists),
  }
}

/** What runs stored that couldn't record it: from their requests, and from the stamps of tombstones. */
async function unsureLists(
  warehouse: Warehouse,
  from: string | null,
  fresh: (db: Db) => ReturnType<typeof runIds>,
): Promise<ChangedList[]> {
  const stored = await warehouse.read((db) =>
    requestsOf(db, fresh(db).where(isUnsure))
      .select(['tenant_id', 'resource'])
      .select((eb) => eb.fn.sum<Int64 | null>('rows_written').as('rows'))
      .groupBy(['tenant_id', 'resource'])
      .execute(),
  )
  const lists = stored.map(({ rows, tenant_id, resource }) => ({
    tenant_id,
    resource: String(resource),
    rows_upserted: Number(rows ?? 0),
    rows_deleted: 0,
  }))
  if (from === null) return lists
  for (const { name: resource, tables } of warehouse.model.list) {
    const [root] = tables
    if (!root) continue
    const deleted = await warehouse.read((db) =>
      db
        .selectFrom(rootTable(root))
        .select('tenant_id')
        .select((eb) => eb.fn.countAll<Int64>().as('rows'))
        .where('_deleted_at', '>=', from)
        .groupBy('tenant_id')
        .execute(),
    )
    for (const { tenant_id, rows } of deleted)
      lists.push({ tenant_id, resource, rows_upserted: 0, rows_deleted: Number(rows) })
  }
  return lists
}

/** The earliest of these lists. */
async function completeThrough(warehouse: Warehouse, lists: readonly ChangedList[]): Promise<string | null> {
  if (lists.length === 0) return null
  const tenants = [...new Set(lists.map(({ tenant_id }) => tenant_id))]
  const rows = await listCursors(warehouse, ['complete_through'], { tenants })
  const known = new Map(rows.map((row) => [rowName(row), row.complete_through]))
  const all = lists.map((list) => known.get(rowName(list)) ?? null)
  return all.includes(null) ? null : (all.flatMap((at) => at ?? []).sort()[0] ?? null)
}
