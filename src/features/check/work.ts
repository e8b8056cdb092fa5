/*
 * The trials of `shopsync check`: credentials, clock, each tenant's access, each resource, the warehouse, how the
 * source behaves. A trial returns the facts it found and the exit code they deserve; src/features/check/words.ts puts
 * them into words. A fault is reported once: a resource that fails is not the fault of each tenant that was tried.
 */

import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { Skip, Stop } from '../../engine/base/errors.js'
import { toJson } from '../../engine/base/printjson.js'
import type { SourceAddress } from '../../engine/config/sourceaddress.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import type { Table } from '../../engine/model/table.js'
import {
  type AuthorizationList,
  isWhole,
  readAuthorizations,
  saysWhoIsGranted,
} from '../../engine/run/authorizations.js'
import { tryChanges } from '../../engine/run/catchup.js'
import { isEverybodys } from '../../engine/warehouse/classify.js'
import type { Dialect } from '../../engine/warehouse/dialect.js'
import { isNewWarehouse } from '../../engine/warehouse/layout/ddl.js'
import { refusalOf } from '../../engine/warehouse/layout/interference.js'
import { absence, checkWritable, plannedChanges } from '../../engine/warehouse/layout/migrate.js'
import { isHeld } from '../../engine/warehouse/lease/lease.js'
import { failedWorks } from '../../engine/warehouse/state/failedworks.js'
import {
  isSame,
  readSource,
  readSourceIdentity,
  storeSource,
} from '../../engine/warehouse/state/sourceidentity.js'
import { knownTenants } from '../../engine/warehouse/state/tenants.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { compareForgotten, forgottenTroubles } from '../../shell/forgottenfile.js'
import { plannedViews, type ViewsWanted } from '../analytics/makeviews.js'
import { readEventTotals } from '../events/eventview.js'
import { isUnreadable, watchInbox } from '../events/watchinbox.js'
import { AccessCheck, type ApiCheck } from './access.js'
import { changesBetween, type Probe, type ProbeTarget, probeSource } from './probe.js'
import { failure, type Trial } from './trials.js'

/** Tries the credentials. If the API accepts them, also the clock, each tenant's access, and each resource. */
export async function checkApi(options: ApiCheck): Promise<{
  readonly trials: readonly Trial[]
  /** The list that a probe should use. */
  readonly largest: { readonly tenantId: Int64; readonly resource: ResourceModel } | undefined
  /** The granted tenants; undefined if not all are known. */
  readonly granted: readonly Int64[] | undefined
}> {
  const { source, signal, except } = options
  let list: AuthorizationList
  try {
    list = await readAuthorizations({ source, signal, observer: {} })
  } catch (error) {
    signal.throwIfAborted()
    return {
      trials: [failure(isBusy(error) ? 'rate limit' : 'credentials', error, 3)],
      largest: undefined,
      granted: undefined,
    }
  }
  // Before the tenants are tried: with hundreds of them, that takes minutes.
  const compared = clock(options, list.serverDate)
  const granted = [...list.rows.keys()]
  const { window } = options.source.stats()
  const isMeant = (tenant: Int64): boolean =>
    !except.includes(tenant) && (options.tenants?.includes(tenant) ?? true)
  const wanted = granted.filter(isMeant)
  const access = await new AccessCheck(options).run(wanted)
  const trials: Trial[] = [
    { of: 'credentials', granted: granted.length, window, exitCode: granted.length > 0 ? 0 : 1 },
    compared,
    ...(isWhole(list) ? [] : [short(list)]),
    ...ungranted(options, granted),
    ...access.trials,
  ]
  return { trials, largest: access.largest, granted: saysWhoIsGranted(list) ? granted : undefined }
}

/** The API answered but takes no more requests for now. That says nothing about the credentials. */
const isBusy = (error: unknown): boolean =>
  error instanceof Skip && (error.details.code === 'told_to_wait' || error.details.status === 429)

const short = ({ ids, total }: AuthorizationList): Trial => ({
  of: 'authorizations',
  shown: ids.size,
  total,
  exitCode: 1,
})

const tolerableSkew = 120_000

/** A wrong clock loses no record, but it makes ages and leases wrong. */
function clock({ nowMicros }: ApiCheck, server: bigint | undefined): Trial {
  if (server === undefined) return { of: 'clock', skew: undefined, exitCode: 0 }
  const skew = Number(nowMicros() - server) / 1000
  return { of: 'clock', skew, exitCode: Math.abs(skew) < tolerableSkew ? 0 : 1 }
}

const ungranted = ({ tenants, except }: ApiCheck, granted: readonly Int64[]): Trial[] =>
  (tenants ?? [])
    .filter((tenantId) => !granted.includes(tenantId) && !except.includes(tenantId))
    .map((tenantId) => ({ of: 'grant', tenantId, granted, exitCode: 1 }))

/** Tenants that the warehouse knows but that aren't granted: their rows aren't kept up to date. */
export async function checkRevoked(
  warehouse: Warehouse,
  { tenants, except, granted }: Pick<ApiCheck, 'tenants' | 'except'> & { readonly granted: readonly Int64[] },
): Promise<Trial[]> {
  if (!(await warehouse.has('tenants'))) return []
  const known = await knownTenants(warehouse)
  // Tenants named in the configuration were already reported.
  const outside = new Set([...granted, ...except])
  return known
    .filter(({ tenantId }) => tenants === null && !outside.has(tenantId))
    .map(({ tenantId }) => ({ of: 'revoked', tenantId, exitCode: 1 }))
}

/**
 * Tries whether the warehouse can be reached and written to, whether it has room, and whether its tables are up to
 * date.
 */
export async function checkWarehouse(
  open: () => Promise<Warehouse>,
  autoMigrate: boolean,
): Promise<readonly Trial[]> {
  try {
    const warehouse = await open()
    await checkWritable(warehouse)
    const refused = await warehouse.trying(() => tryWrite(warehouse, { creates: autoMigrate }))
    const planned = await plannedChanges(warehouse)
    const changes = planned.length
    const exitCode = changes > 0 && !autoMigrate ? 1 : 0
    const { where } = warehouse
    const columns = [...(warehouse.model.privacy.held ?? [])]
    const absent = isNewWarehouse(planned) ? (await absence(warehouse)).problem : undefined
    return [
      { of: 'warehouse', where, changes, absent, exitCode },
      ...(columns.length > 0 ? [{ of: 'held columns', columns, exitCode: 0 } as const] : []),
      ...refused.map(tableFailure),
    ]
  } catch (error) {
    return [warehouseFailure(error)]
  }
}

const tableFailure = (why: Skip): Trial => failure(`table ${why.details.table}`, why, 1)

const warehouseFailure = (error: unknown): Trial =>
  failure('warehouse', error, error instanceof Stop && error.exitCode !== 4 ? error.exitCode : 3)

/** The tables that something interferes with, and an encoding that doesn't hold every character. */
export async function checkInterference(warehouse: Warehouse): Promise<Trial[]> {
  const found = await warehouse.interfered.found()
  const encoding = await warehouse.read(() => warehouse.dialect.catalog.narrowEncoding())
  const trials = found.map((interference): Trial => {
    const { isHarmful, table } = interference
    return { of: 'table', interference, exitCode: isHarmful ? (isEverybodys(table) ? 3 : 1) : 0 }
  })
  return [...trials, ...(encoding === undefined ? [] : [{ of: 'encoding', encoding, exitCode: 2 } as const])]
}

/** The tables that can't be changed as the next run has to. While a run is at work nothing is tried: it would wait. */
export const checkChanges = (warehouse: Writer): Promise<Trial[]> =>
  warehouse
    .trying(async () => {
      const isBusy = (await warehouse.has('sync_lease')) && (await isHeld(warehouse, warehouse.clock))
      return isBusy ? [] : tryChanges(warehouse)
    })
    .then(
      (refused) => refused.map(tableFailure),
      (error: unknown) => [warehouseFailure(error)],
    )

/** Which views for analysts would be made, and what is in their way; nothing if they are up to date. */
export async function checkViews(
  warehouse: Warehouse,
  settings: ViewsWanted,
  autoMigrate: boolean,
): Promise<Trial[]> {
  const { made, troubles } = await plannedViews(warehouse, settings)
  const store = warehouse.dialect.views(settings.schema)
  const slow = await store.slowedBy((query) => warehouse.read((db) => db.executeQuery(query)))
  return [
    ...[...troubles, ...(slow ? [slow] : [])].map(
      (trouble): Trial => ({ of: 'views', trouble, exitCode: 0 }),
    ),
    ...(made.length > 0 ? [{ of: 'view changes', changes: made, autoMigrate, exitCode: 0 } as const] : []),
  ]
}

/** The received events, if they are there and this user can't read and settle them. */
export async function checkEvents(warehouse: Warehouse, nowMicros: bigint): Promise<Trial[]> {
  const read = await readEventTotals(warehouse, nowMicros)
  const written = await watchInbox(warehouse, async (inbox) => ({ rows: await inbox.write([]) }))
  const [found] = [read, written].flatMap((part) => (part && isUnreadable(part) ? part : []))
  return found ? [failure('events', new Stop(found.unreadable, { exitCode: 1, hint: found.advice }), 1)] : []
}

/** Customers who were forgotten, and are back or not forgotten to the end. */
export async function checkForgotten(warehouse: Warehouse, file: string): Promise<Trial[]> {
  const found = await compareForgotten(warehouse, file)
  return (found ? forgottenTroubles(found) : []).map(({ found: message, hint }) =>
    failure('forgotten customers', new Stop(message, { exitCode: 1, hint }), 1),
  )
}

/** The snapshot and the report, if the last attempt failed. */
export const checkWorks = async (warehouse: Warehouse): Promise<Trial[]> =>
  (await failedWorks(warehouse)).map((work) => ({ of: 'work', work, exitCode: 1 }))

/** Whether the warehouse belongs to the configured source; nothing if it does, or belongs to none. */
export async function checkOwner(warehouse: Warehouse, asked: SourceAddress): Promise<Trial[]> {
  const owner = await readSourceIdentity(warehouse)
  if (owner === undefined || isSame(owner, asked)) return []
  return [{ of: 'belonging', owner, asked, exitCode: 2 }]
}

/** How the source behaves couldn't be asked. */
const notProbed: Trial = {
  of: 'untried',
  what: 'source behavior',
  found: 'the largest list did not answer',
  hint: 'Type shopsync check again',
  exitCode: 0,
}

/**
 * Probes how the source behaves, compares that with the last probe, and stores the result in a warehouse that has the
 * table for it (`keepIn`).
 */
export async function checkWays(target: ProbeTarget, keepIn: Writer | undefined): Promise<Trial[]> {
  const probe = await probeSource(target)
  if (!probe) return [notProbed]
  const has = keepIn !== undefined && (await keepIn.has('sync_source'))
  const before = has ? (((await readSource(keepIn))?.probe ?? null) as Probe | null) : null
  const changes = before === null ? [] : changesBetween(before.answers, probe.answers)
  if (has) await keepIn.write([storeSource(keepIn.db, { probe: toJson(probe), probed_at: probe.asked_at })])
  const { by_id, totals } = probe.answers
  const isBroken = (by_id !== null && by_id !== 'works') || totals === 'more_without_filter'
  return [{ of: 'probe', probe, changes, exitCode: isBroken ? 1 : 0 }]
}

/** Pages are about a megabyte each: a disk without room for a few of them is full as far as a run is concerned. */
const tryBytes = 8 * 1024 * 1024

/**
 * Tries every statement of a run on a table: databases check permissions even if no row is affected. `live`: the columns
 * that the table has. An earlier version's key may lack some, which the next run adds.
 */
async function tryTable(
  { db }: Dialect,
  session: Session,
  table: Table,
  live: ReadonlySet<string>,
): Promise<void> {
  const name = table.name as 'tenants'
  const keys = table.key.filter((column) => live.has(column)) as 'tenant_id'[]
  const [key] = keys
  const none = sql<boolean>`1 = 0`
  const rows = db.selectFrom(name).select(keys).where(none)
  if (key) {
    await session.run(db.insertInto(name).columns(keys).expression(rows).compile())
    await session.run(db.updateTable(name).set(key, sql.ref(key)).where(none).compile())
  }
  await session.run(db.deleteFrom(name).where(none).compile())
}

/**
 * Throws the database's error if the warehouse can't be written: a table that every run needs or that can't be created
 * (`creates`), or no room left. Returns why other tables can't be written.
 */
async function tryWrite(
  { dialect, tables }: Warehouse,
  { creates }: { readonly creates: boolean },
): Promise<readonly Skip[]> {
  const undo = new Error('undo')
  const found = await dialect.catalog.interferences(tables.map(({ name }) => name))
  // The trouble of a single table is told by itself; without the state tables, no run can begin.
  const barred = new Set(
    found.filter(({ isHarmful, table }) => isHarmful && !isEverybodys(table)).map(({ table }) => table),
  )
  const live = new Map<string, Set<string>>()
  for (const { table, name } of await dialect.catalog.liveColumns())
    live.set(table, (live.get(table) ?? new Set()).add(name))
  const refused: Skip[] = []
  for (;;)
    try {
      await dialect.transaction(async (session) => {
        if (creates) await dialect.catalog.prepare(session)
        await dialect.catalog.waitBriefly(session, 1)
        for (const table of tables) {
          const columns = live.get(table.name)
          if (columns && !barred.has(table.name)) await tryTable(dialect, session, table, columns)
        }
        await dialect.catalog.tryRoom(session, { bytes: tryBytes, creates })
        throw undo
      })
    } catch (error) {
      if (error === undo) return refused
      const classed = dialect.classify(error)
      const refusal = refusalOf(classed)
      const table = refusal?.details.table
      if (!refusal || table === undefined || barred.has(table)) throw classed
      barred.add(table)
      refused.push(refusal)
    }
}
