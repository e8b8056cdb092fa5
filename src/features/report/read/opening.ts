/*
 * What every page queries first: whether there is data, and the views that it reads. All queries of a page see the rows
 * of the same instant, so its numbers agree while a sync is running. Read-only.
 */
import { sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { Stop } from '../../../engine/base/errors.js'
import type { SourceAddress } from '../../../engine/config/sourceaddress.js'
import type { FreshnessSettings } from '../../../engine/config/targetsection.js'
import { readHolders, runningMs } from '../../../engine/run/lastrun.js'
import { readerOf } from '../../../engine/warehouse/database.js'
import type { OneInstant } from '../../../engine/warehouse/dialect.js'
import { refuseUnreadable } from '../../../engine/warehouse/layout/migrate.js'
import { isAnyCursor } from '../../../engine/warehouse/state/cursors.js'
import type { RunStatement } from '../../../engine/warehouse/views/viewstore.js'
import type { Warehouse } from '../../../engine/warehouse/warehouse.js'
import { type BelongsTo, belongsTo } from '../../../shell/belongingwords.js'
import type { HealthRule } from '../../health/cursorhealth.js'
import { askLists, type ListsFound } from './asktrust.js'
import type { Subject } from './reportdays.js'

export interface ReportOptions {
  readonly warehouse: Warehouse
  /** The warehouse's address without its password. */
  readonly label: string
  /** The configured source. */
  readonly source: SourceAddress
  /** `report.schema`. */
  readonly schema: string | undefined
  /** `report.timeZone`: determines today's date. */
  readonly timeZone: string
  /** undefined without targets. */
  readonly targets?: FreshnessSettings | undefined
  /** Resources that are synced. */
  readonly synced?: readonly string[]
  /** `sync.exceptTenants`. */
  readonly exceptTenants?: readonly Int64[]
  /** `report.contacts`: whether phones and e-mail addresses are shown. */
  readonly contacts?: boolean
  /** `report.waitingForParts`. */
  readonly waitingForParts?: readonly string[]
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
  /** null: all. */
  readonly tenants: readonly Int64[] | null
  readonly nowMicros: bigint
}

/** A warehouse with data, at one instant. */
export interface OpenedWarehouse {
  readonly held: OneInstant
  /** null: no run has stored a source yet. */
  readonly belongsTo: BelongsTo | null
  readonly subject: Subject
  /** When a list needs attention. */
  readonly rule: HealthRule
  readonly found: ListsFound
}

/** Runs the work with the warehouse at one instant; undefined if nothing was ever synced into it. */
export async function withData<T>(
  options: ReportOptions,
  views: readonly string[],
  ask: (opened: OpenedWarehouse) => Promise<T>,
): Promise<T | undefined> {
  const { warehouse, source } = options
  // An empty warehouse, or another program's database, has no such table: then the views aren't queried at all.
  if (!(await warehouse.has('sync_cursors'))) return undefined
  const opened = async (held: OneInstant): Promise<T | undefined> => {
    if (!(await isAnyCursor(readerOf(held.db)))) {
      // In an interrupted copy, the cursors come last: a page would report that nothing was ever synced.
      await refuseUnreadable(held.db, warehouse.where)
      return undefined
    }
    const subject = await subjectOf(held, options, views)
    const { synced = [], exceptTenants = [], nowMicros } = options
    const holders = await readHolders(held.db, nowMicros)
    const rule = { ...options, runningMs: runningMs(holders, nowMicros) }
    const found = await askLists(held.db, subject, { synced, exceptTenants, rule })
    if (found.lists.length === 0) throw unknownTenants(options)
    const has = (table: string): Promise<boolean> => warehouse.has(table)
    const owner = await belongsTo({ has, read: (query) => query(held.db) }, source)
    return ask({ held, belongsTo: owner, subject, rule, found })
  }
  return warehouse.read(() => warehouse.dialect.atOneInstant(opened))
}

/** There are cursors, but none of these tenants: a page without data would report that nothing was synced. */
const unknownTenants = ({ tenants }: ReportOptions): Stop =>
  new Stop(`Found no data of tenant ${(tenants ?? []).join(', ')}, expected one that has been synced`, {
    exitCode: 2,
    hint: 'Type shopsync status to see which tenants the warehouse has, or shopsync sync to load more',
  })

async function subjectOf(
  { db, views }: OneInstant,
  { warehouse, schema, tenants }: ReportOptions,
  asked: readonly string[],
): Promise<Subject> {
  const store = views(schema)
  const run: RunStatement = (query) => db.executeQuery(query)
  const live = await store.live(run)
  const missing = asked.filter((name) => !live.has(name))
  if (missing.length === 0) {
    const month = (column: string) => sql<string | null>`substr(${sql.raw(store.sql.dayText(column))}, 1, 7)`
    const day = (column: string) => sql.raw<string | null>(store.sql.dayText(column))
    return { db: store.db, tenants, month, day }
  }
  // Of a warehouse that can't be upgraded, migrate makes no views.
  await refuseUnreadable(db, warehouse.where)
  const obstacle = await store.obstacle(run)
  throw new Stop(
    `Found ${missing.length === asked.length ? 'no views for analysts' : `no view ${missing.join(', ')}`} in ${store.where}, expected ${asked.length} that the report asks`,
    { exitCode: 2, hint: obstacle?.hint ?? 'Type shopsync migrate, which makes them' },
  )
}
