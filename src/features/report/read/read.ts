/*
 * Asks the warehouse everything that the report shows: a dozen statements over the views for analysts, whatever the
 * number of tenants. All of them see the rows of one instant, so that the numbers agree with each other while a sync
 * goes on. Reads only. Used by `shopsync report`, the step of that name in a job, and the demo.
 */
import { sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { View, ViewQuery, ViewWords } from '../../../../schema/view.js'
import { views as declaredViews } from '../../../../schema/views/index.js'
import { Stop } from '../../../engine/base/errors.js'
import { fromMicros } from '../../../engine/base/timestamp.js'
import type { OneInstant } from '../../../engine/warehouse/dialect.js'
import { refuseUnfinishedCopy } from '../../../engine/warehouse/migrate.js'
import type { RunStatement } from '../../../engine/warehouse/viewstore.js'
import type { Warehouse } from '../../../engine/warehouse/warehouse.js'
import { openIncidents } from '../../alerts/openincidents.js'
import { dayOf, endDay } from '../../analytics/shopday.js'
import type { OperationsAnswer, ReportData } from '../data.js'
import { askExtent } from './asksales.js'
import { askFreshness } from './asktrust.js'
import { findingsOf } from './findings.js'
import { operationsOf } from './operations.js'
import { monthsOf, type Subject } from './reportdays.js'
import { tenantsAndScopes } from './scopes.js'
import { completeDay } from './trust.js'

export interface ReportOptions {
  readonly warehouse: Warehouse
  /** The warehouse's address without its password. */
  readonly label: string
  /** `report.schema`. */
  readonly schema: string | undefined
  /** `report.timeZone`: by it, today is the day that it is. */
  readonly timeZone: string
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
  /** null: all. */
  readonly tenants: readonly Int64[] | null
  readonly nowMicros: bigint
}

/** Recommendations without a decision are followed up for so many days. */
const followedMicros = 90n * 86_400_000_000n

const nothingYet: OperationsAnswer = {
  days: [],
  runs: [],
  resources: [],
  quarantine: [],
  drift: [],
  driftSeen: 0,
}

export async function readReport(options: ReportOptions): Promise<ReportData> {
  const { warehouse, label, timeZone, nowMicros } = options
  const madeAt = fromMicros(nowMicros)
  const today = dayOf(timeZone, madeAt, endDay(nowMicros)) ?? madeAt.slice(0, 10)
  const head = { madeAt, warehouse: label, today, timeZone }
  const none = { months: [], lastMonth: null, scopes: [], tenants: [], operations: nothingYet }
  // A warehouse of nothing, or of another program, has no such table: not even the views are asked for.
  if (!(await warehouse.has('sync_cursors'))) return { ...head, ...none }
  const ask = async (held: OneInstant): Promise<ReportData> => {
    if (!(await hasCursors(held))) {
      // Of a copy that was cut short, the cursors come late: a page would say that nothing was ever synced.
      await refuseUnfinishedCopy(held.db, warehouse.where)
      return { ...head, ...none }
    }
    const subject = await subjectOf(held, options)
    const freshness = await askFreshness(subject)
    if (freshness.length === 0) throw unknownTenants(options)
    const first = (await askExtent(subject))?.first ?? null
    const months = monthsOf({ first, today, completeDay: completeDay(freshness, nowMicros) })
    const whole = months.findLastIndex(({ isPartial }) => !isPartial)
    const lastMonth = whole === -1 ? null : whole
    const last = (months[lastMonth ?? months.length - 1] ?? { month: today.slice(0, 7) }).month
    const findings = await findingsOf(subject, held.db, {
      from: months[0]?.month ?? last,
      last,
      undecidedSince: fromMicros(nowMicros - followedMicros).slice(0, 10),
    })
    const { staleAfterMs, deletesUncheckedAfterMs } = options
    const incidents = await openIncidents(warehouse, held.db)
    const rule = { nowMicros, staleAfterMs, deletesUncheckedAfterMs, incidents, restsOn: restsOn(warehouse) }
    const scene = { ...rule, months, lastMonth, last }
    const operations = await operationsOf(held.db, freshness, { tenants: options.tenants, nowMicros })
    return { ...head, months, lastMonth, operations, ...(await tenantsAndScopes(subject, findings, scene)) }
  }
  return warehouse.read(() => warehouse.dialect.atOneInstant(ask))
}

/** There are cursors, and none of these tenants: a page without data would say that nothing was synced. */
const unknownTenants = ({ tenants }: ReportOptions): Stop =>
  new Stop(`Found no data of tenant ${(tenants ?? []).join(', ')}, expected one that has been synced`, {
    exitCode: 2,
    hint: 'Type shopsync status to see the tenants there are, or shopsync sync to bring their data',
  })

/** Whether anything was ever synced. */
const hasCursors = async ({ db }: OneInstant): Promise<boolean> =>
  (await db.selectFrom('sync_cursors').select('resource').limit(1).executeTakeFirst()) !== undefined

/** The views that the questions are about. */
const asked = [
  'customer_value',
  'cycle_times',
  'daily_sales',
  'freshness',
  'orders',
  'parts_margin',
  'payments_check',
  'receivables',
  'recommendation_conversion',
  'technician_hours',
  'totals_check',
  'work_in_progress',
] as const

/** The resources whose rows are in what those views show. */
function restsOn({ tables }: Warehouse): ReadonlySet<string> {
  const names: readonly string[] = asked
  const read = tablesBehind(declaredViews.filter(({ name }) => names.includes(name)))
  const all = tables.filter(({ name }) => read.has(name)).map(({ resource }) => resource)
  return new Set(all.filter((resource) => resource !== ''))
}

async function subjectOf({ db, views }: OneInstant, { schema, tenants }: ReportOptions): Promise<Subject> {
  const store = views(schema)
  const run: RunStatement = (query) => db.executeQuery(query)
  const live = await store.live(run)
  const missing = asked.filter((name) => !live.has(name))
  if (missing.length === 0) {
    const month = (column: string) => sql<string | null>`substr(${sql.raw(store.sql.dayText(column))}, 1, 7)`
    const day = (column: string) => sql.raw<string | null>(store.sql.dayText(column))
    return { db: store.db, tenants, month, day }
  }
  const obstacle = await store.obstacle(run)
  throw new Stop(
    `Found ${missing.length === asked.length ? 'no views for analysts' : `no view ${missing.join(', ')}`} in ${store.where}, expected ${asked.length} that the report asks`,
    { exitCode: 2, hint: obstacle?.hint ?? 'Type shopsync migrate, which makes them' },
  )
}

/** Words that say nothing: what is left of a declaration is its tables. Names of people and places are no figures. */
const silent: ViewWords = {
  now: '',
  key: () => '',
  name: () => '',
  tenantName: () => '',
  ids: () => '',
  liveRows: () => '',
  field: () => '',
  zone: () => '',
  day: () => '',
  shopDay: () => ({ day: '', join: '' }),
  dayNumber: () => '',
  month: () => '',
  dayText: () => '',
  minutes: () => '',
  nine: () => '',
  sumNine: () => '',
  fromNine: () => '',
  quotient: () => '',
  amount: () => '',
  prorate: () => '',
}

const isList = (built: ViewQuery | readonly ViewQuery[]): built is readonly ViewQuery[] =>
  Array.isArray(built)

function tablesOf(view: View): string[] {
  const built = view.build(silent)
  const texts = (isList(built) ? built : [built]).flatMap((query) => [
    query.with ?? '',
    query.from,
    ...Object.values(query.select),
  ])
  return texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))
}

/** The tables that any of these views reads. */
const tablesBehind = (views: readonly View[]): ReadonlySet<string> => new Set(views.flatMap(tablesOf))
