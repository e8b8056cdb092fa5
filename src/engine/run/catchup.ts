/*
 * What a run brings up to date in addition to the rows of its cursors: rows that the configuration wants otherwise,
 * rows that follow from stored records, and what features keep alongside the rows. This happens when the run begins,
 * since the configuration may have changed, and when it ends, since shops may have been added.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { describeError, Skip } from '../base/errors.js'
import { plural } from '../base/format.js'
import type { Reason } from '../base/reasons.js'
import { fromMicros } from '../base/timestamp.js'
import type { Table } from '../model/table.js'
import { isEverybodys, ofTable } from '../warehouse/classify.js'
import { rootTable } from '../warehouse/database.js'
import { type Hidden, type LoosenedColumn, loosen, tryHiding } from '../warehouse/hiding/hiding.js'
import { checkPrivacy, isUnhidden, storedPrivacy } from '../warehouse/hiding/privacystate.js'
import type { Change } from '../warehouse/layout/ddl.js'
import { isNewWarehouse } from '../warehouse/layout/ddl.js'
import type { InterferedTables } from '../warehouse/layout/interference.js'
import { migrate, plannedChanges } from '../warehouse/layout/migrate.js'
import {
  pendingRewrites,
  type RewrittenRows,
  rewriteRows,
  tablesToRewrite,
} from '../warehouse/layout/rewrites.js'
import { openLease } from '../warehouse/lease/openlease.js'
import { isAnyCursor } from '../warehouse/state/cursors.js'
import { type Recomputed, readOutdated, recompute } from '../warehouse/store/recompute.js'
import type { Transact } from '../warehouse/transaction.js'
import type { Warehouse, Writer } from '../warehouse/warehouse.js'
import type { Dependencies, Writing } from './runcontext.js'
import { now } from './tenant.js'

const words: Readonly<Record<RewrittenRows['to'], string>> = {
  name: 'Names were made again from the stored records, because report.names or the program changed',
  history: 'Ended versions are kept from now on; existing rows count as seen since their last request',
  'no history': 'Ended versions are no longer kept; the existing history stays',
}

/** Rewrites rows as the configuration wants them, before a run stores anything: it stores them in that form. */
export async function rewriteStored(run: Writing): Promise<void> {
  const { warehouse, observer, signal } = run
  const done = await rewriteRows(warehouse, signal)
  for (const { table, column, to, values } of done) observer.notice?.(words[to], { table, column, values })
  // Views have waited for what they read, and perhaps for the calendar.
  if (done.length > 0) {
    await run.besideRows?.(run)
    await run.afterRecompute?.()
  }
}

/** Recomputes what a changed rule, or changed settings, made stale (src/engine/warehouse/store/recompute.ts). */
async function recomputeDerived({
  warehouse,
  clock,
  observer,
  signal,
  shard,
  afterRecompute,
}: Pick<Writing, 'warehouse' | 'clock' | 'observer' | 'signal' | 'shard' | 'afterRecompute'>): Promise<
  readonly Recomputed[]
> {
  const progress = (table: string, tenantId: Int64, records: number): void =>
    observer.step?.(`recomputing ${table} of tenant ${tenantId}, ${plural(records, 'record')}`, 0, 0)
  const how = { signal, shard, at: () => now({ clock }), progress }
  const done = await recompute(warehouse, warehouse.model, how).catch((error) => {
    // If a signal ended the work, the next run continues.
    if (signal.aborted) return []
    // A problem with one table doesn't affect the others. The next run tries again.
    if (!(error instanceof Skip)) throw error
    observer.warning?.('Derived rows were not recomputed', { error: describeError(error) })
    return []
  })
  for (const { table, tenantId, records } of done)
    observer.notice?.(
      'Derived rows were recomputed from the stored records, because their rule or settings changed',
      {
        table,
        tenant_id: tenantId,
        records,
      },
    )
  if (done.length > 0) await afterRecompute?.()
  return done
}

/** What only the holder of the whole warehouse may do, before a shard begins: rows of all tenants are rewritten. */
export async function migrateWhole(deps: Dependencies, command: string): Promise<void> {
  if (!deps.shard) return
  const pending = await pendingRewrites(deps.warehouse)
  if (pending.every(({ table }) => deps.warehouse.interfered.unchanged([table]))) return
  await using lease = await openLease({ ...deps, shard: undefined }, command)
  await rewriteStored({ ...deps, ...lease, shard: undefined })
  lease.throwIfLost()
}

/**
 * Brings the tables up to date before a shard begins, while nobody else writes: other shards may be of the program that the
 * tables were made by. In a new warehouse nobody can be at work. Where lists are on record as kept back, what was refused
 * is tried first, and the whole warehouse is only claimed for what goes through: otherwise each shard of each round would
 * have all others end, in vain.
 */
export async function migrateBeforeShard(warehouse: Writer): Promise<readonly Change[]> {
  const changes = await plannedChanges(warehouse)
  if (isNewWarehouse(changes)) return migrate(warehouse)
  if (!changes.some(({ table }) => isEverybodys(table)) && (await isKeptBack(warehouse)))
    await tryChanges(warehouse)
  if (changes.length === 0) return migrate(warehouse)
  if (changes.every(({ table }) => warehouse.interfered.unchanged([table]))) return []
  await using _ = await openLease({ warehouse, clock: warehouse.clock, isBare: true }, 'migrate')
  return await migrate(warehouse)
}

const isKeptBack = (warehouse: Warehouse): Promise<boolean> =>
  isAnyCursor(warehouse, { where: (eb) => eb('reason', '=', 'not_migrated' satisfies Reason) })

/**
 * Tries what a run would have to change first, and undoes it: the structure of each table, and one row of what would be
 * rewritten. Returns which tables can't be changed, and why. A run at work would wait for it.
 */
export async function tryChanges(warehouse: Writer): Promise<readonly Skip[]> {
  const { dialect, interfered, model, clock } = warehouse
  const changes = (await plannedChanges(warehouse)).filter(({ kind }) => kind !== 'index')
  if (isNewWarehouse(changes)) return []
  const undo = new Error('undo')
  const transact: Transact = (work) =>
    dialect.transaction(async (session) => {
      await dialect.catalog.waitBriefly(session, 1)
      await work(session)
      throw undo
    })
  const changing: InterferedTables['changing'] = async (change, table, work) => {
    const tried = () =>
      work().catch((error) => (error === undo ? undefined : Promise.reject(dialect.classify(error))))
    return interfered.unchanged([table]) ? undefined : interfered.changing(change, table, tried)
  }
  const attempt = (change: 'structure' | 'rows', name: string): Promise<unknown> =>
    changing(change, name, () =>
      transact(async (session) => {
        const own = changes.filter(({ table }) => table === name).flatMap(({ statements }) => statements)
        const table = isEverybodys(name) ? undefined : warehouse.tables.find((one) => one.name === name)
        for (const statement of [...own, ...(table ? [touched(warehouse.db, table)] : [])])
          await session.run(statement).catch((error) => Promise.reject(ofTable(error, name)))
      }),
    )
  for (const name of new Set(changes.map(({ table }) => table))) await attempt('structure', name)
  // What is rewritten is found in tables that this version may yet have to make.
  if (changes.some(({ table }) => isEverybodys(table))) return interfered.allUnchanged()
  await warehouse.learnRules()
  const derived = (await readOutdated(warehouse, model)).map((one) => one.derived.table.name)
  const pending = (await pendingRewrites(warehouse)).map(({ table }) => table)
  for (const name of new Set([...derived, ...pending])) await attempt('rows', name)
  await tryHiding({ dialect, transact, model, interfered: { changing }, at: now({ clock }) })
  return interfered.allUnchanged()
}

/** Updates one row with another stamp, as storing it again does: triggers may look at the columns, or for a difference. */
function touched(db: Warehouse['db'], { name, key, columns }: Table): CompiledQuery {
  const keys = sql.join(key.map((column) => sql.ref(column)))
  // Not every table has a stamp.
  const set = columns.map(({ name: of }) => [of, of === '_synced_at' ? fromMicros(0n) : sql.ref(of)] as const)
  const table = rootTable({ name })
  return db
    .updateTable(table)
    .set(Object.fromEntries(set))
    .where(
      sql<boolean>`(${keys}) in ${db
        .selectFrom(table)
        .select(sql`${keys}` as never)
        .limit(1)}`,
    )
    .compile()
}

/** Lets the configuration store what the warehouse has hidden so far (warehouse/hiding/hiding.ts). */
export async function loosenPrivacy(
  deps: Pick<Dependencies, 'warehouse' | 'clock' | 'signal'>,
): Promise<readonly LoosenedColumn[]> {
  // It stores no row: what it does is what the next claim needs.
  await using lease = await openLease({ ...deps, shapesRows: false }, 'migrate')
  const { warehouse } = lease
  const transact: Transact = (work) => warehouse.transaction(work)
  const { dialect, interfered } = warehouse
  warehouse.found = { left: warehouse.model.left, held: new Set() }
  const work = { dialect, interfered, transact, model: warehouse.model, at: now(deps) }
  const loose = await warehouse.trying(() => loosen(work))
  lease.throwIfLost()
  return loose
}

/** Brings rows up to date without a run. Claims the warehouse only if there is something to do. */
export async function migrateStored(
  deps: Pick<Dependencies, 'warehouse' | 'clock' | 'signal' | 'observer' | 'afterRecompute'>,
): Promise<{
  readonly rewritten: readonly RewrittenRows[]
  readonly recomputed: readonly Recomputed[]
  readonly hidden: Hidden
}> {
  const { warehouse } = deps
  const { model } = warehouse
  await warehouse.learnRules()
  // As a claim of the lease would: "up to date" must not be said of a policy that the next run refuses.
  const hidden = await warehouse.read((db) => storedPrivacy(db).execute())
  if (warehouse.rowSettings) checkPrivacy(hidden, model, warehouse.where)
  const waits =
    isUnhidden(hidden, model) ||
    (await tablesToRewrite(warehouse)).length > 0 ||
    (await readOutdated(warehouse, model)).length > 0
  if (!waits) return { rewritten: [], recomputed: [], hidden: { done: [], left: null } }
  await using lease = await openLease(deps, 'migrate')
  const done = {
    rewritten: await rewriteRows(lease.warehouse, lease.signal),
    recomputed: await recomputeDerived({ ...deps, ...lease }),
    hidden: lease.hidden,
  }
  lease.throwIfLost()
  return done
}

/** What is beside the rows is of all tenants: what shards leave of it, `run JOB --whole` does. */
const besideRows = async (run: Writing): Promise<void> => {
  if (!run.shard) await run.besideRows?.(run)
}

/** Recomputes what follows from stored records if the rules have changed. */
export async function beforeCursors(run: Writing): Promise<void> {
  await besideRows(run)
  await recomputeDerived(run)
}

/** Recomputes if a new zone came with the records. A run that is ending leaves that to the next one. */
export async function afterCursors(run: Writing): Promise<void> {
  await besideRows(run)
  if (run.signal.aborted) return
  await run.warehouse.learnRules()
  await recomputeDerived(run)
}

/** Uses a tenant's zones for its rules, and notes that it has no rows from other zones. */
export async function learnZones(run: Writing, tenantId: Int64): Promise<void> {
  const { warehouse } = run
  const before = warehouse.rules.textOf(tenantId)
  await warehouse.learnRules(tenantId)
  if (warehouse.rules.textOf(tenantId) !== before) await recomputeDerived(run)
}
