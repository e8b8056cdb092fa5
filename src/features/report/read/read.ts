/*
 * Queries the warehouse for everything in the report: a dozen statements over the views for analysts, whatever the
 * number of tenants. Used by `shopsync report`, the job step of that name, and the demo.
 */
import { columnsRead } from '../../../../schema/viewreads.js'
import { views as declaredViews } from '../../../../schema/views/index.js'
import { fromMicros } from '../../../engine/base/timestamp.js'
import { absenceText } from '../../../engine/warehouse/layout/migrate.js'
import type { Warehouse } from '../../../engine/warehouse/warehouse.js'
import { dayOf, endDay } from '../../analytics/shopday.js'
import { openIncidents } from '../../health/openincidents.js'
import type { ReportData } from '../data.js'
import { askExtent, askShops, findingsOf } from './findings.js'
import { figureRows, shownFigures } from './gather.js'
import { askOpenDays, lastOpenDay, rangeOfOpenDays } from './opendays.js'
import { type OpenedWarehouse, type ReportOptions, withData } from './opening.js'
import { paceMonths, periodsOf } from './periods.js'
import { monthsOf } from './reportdays.js'
import { canChoose, tenantsAndScopes } from './scopes.js'
import { ShopClock } from './shopclock.js'
import { tasksOf } from './tasks.js'
import { withNames } from './tenantnames.js'
import { completeDay } from './trust.js'

/** How long recommendations that weren't sold are followed up. */
const followedMicros = 90n * 86_400_000_000n

/** The views that the queries read, besides those of the figures. */
const asked: readonly string[] = [
  ...new Set([
    ...['appointment_load', 'customer_value', 'cycle_times', 'dim_customers', 'dim_shops', 'dim_tenants'],
    ...['orders', 'payments_check'],
    ...['receivables', 'recommendation_conversion', 'totals_check', 'work_in_progress'],
    ...shownFigures.map(({ relation }) => relation.name),
  ]),
].sort()

/** Names of people and places aren't figures. */
const ofFigures = asked.filter((name) => !name.startsWith('dim_'))

export async function readReport(options: ReportOptions): Promise<ReportData> {
  const { label, timeZone, nowMicros } = options
  const madeAt = fromMicros(nowMicros)
  const today = dayOf(timeZone, madeAt, endDay(nowMicros)) ?? madeAt.slice(0, 10)
  const head = { madeAt, warehouse: label, today, timeZone }
  const none = { belongsTo: null, months: [], lastMonth: null, periods: [], scopes: [], tenants: [] }
  const found = await withData(options, asked, (opened) => figuresOf(opened, options, today))
  if (found) return { ...head, ...found }
  return { ...head, ...none, absent: await absenceText(options.warehouse) }
}

async function figuresOf(
  { held, belongsTo, subject, rule, found }: OpenedWarehouse,
  options: ReportOptions,
  today: string,
): Promise<Pick<ReportData, 'belongsTo' | 'months' | 'lastMonth' | 'periods' | 'scopes' | 'tenants'>> {
  const { warehouse, nowMicros, timeZone, contacts = false, waitingForParts = [] } = options
  const madeAt = fromMicros(nowMicros)
  const first = (await askExtent(subject))?.first ?? null
  const { shops, lists } = withNames(await askShops(subject), found.lists)
  const clocks = new ShopClock(shops, timeZone, nowMicros)
  const reached = completeDay(lists, clocks, madeAt)
  const months = monthsOf({ first, today, completeDay: reached })
  const whole = months.findLastIndex(({ isPartial }) => !isPartial)
  const lastMonth = whole === -1 ? null : whole
  const calendar = { months, lastMonth, completeDay: reached }
  const periods = periodsOf(calendar)
  const last = (months[lastMonth ?? months.length - 1] ?? { month: today.slice(0, 7) }).month
  const from = months[0]?.month ?? last
  const findings = await findingsOf(subject, { ...found, lists }, shops, from)
  const openDays = await askOpenDays(subject, rangeOfOpenDays(reached))
  const day = lastOpenDay(openDays, today)
  const rows = await figureRows(subject, { from, periods, day, paced: paceMonths(calendar) }, shops)
  const tasks = await tasksOf(subject, clocks, {
    contacts,
    now: madeAt,
    waitingForParts,
    byShop: canChoose(findings),
    toSellSince: fromMicros(nowMicros - followedMicros).slice(0, 10),
  })
  const incidents = await openIncidents(warehouse, held.db)
  const trusted = { ...rule, incidents, belongsTo, restsOn: restsOn(ofFigures, warehouse) }
  const ofMonths = { findings, rows, months, last, completeDay: reached }
  const scene = { ...trusted, ...ofMonths, clocks, madeAt, openDays, tasks }
  return { belongsTo, months, lastMonth, periods, ...tenantsAndScopes(scene) }
}

/** Which lists the report's figures depend on: the resources whose rows these views show. */
function restsOn(names: readonly string[], { tables }: Warehouse): ReadonlySet<string> {
  const shown = declaredViews.filter(({ name }) => names.includes(name))
  const read = new Set(shown.flatMap((view) => [...columnsRead(view).keys()]))
  const all = tables.filter(({ name }) => read.has(name)).map(({ resource }) => resource)
  return new Set(all.filter((resource) => resource !== ''))
}
