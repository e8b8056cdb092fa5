/*
 * Queries the warehouse for everything in the report: a dozen statements over the views for analysts, whatever the
 * number of tenants. Used by `shopsync report`, the job step of that name, and the demo.
 */
import type { View, ViewQuery, ViewWords } from '../../../../schema/view.js'
import { views as declaredViews } from '../../../../schema/views/index.js'
import { fromMicros } from '../../../engine/base/timestamp.js'
import type { Warehouse } from '../../../engine/warehouse/warehouse.js'
import { dayOf, endDay } from '../../analytics/shopday.js'
import { openIncidents } from '../../health/openincidents.js'
import type { ReportData } from '../data.js'
import { askExtent, findingsOf } from './findings.js'
import { figureRows, shownFigures } from './gather.js'
import { type OpenedWarehouse, type ReportOptions, withData } from './opening.js'
import { paceMonths, periodsOf } from './periods.js'
import { monthsOf } from './reportdays.js'
import { tenantsAndScopes } from './scopes.js'
import { completeDay } from './trust.js'

/** How long recommendations without a decision are followed up. */
const followedMicros = 90n * 86_400_000_000n

/** The views that the queries read, besides those of the figures. */
const asked: readonly string[] = [
  ...new Set([
    ...['customer_value', 'cycle_times', 'dim_shops', 'dim_tenants', 'orders', 'payments_check'],
    ...['receivables', 'recommendation_conversion', 'totals_check', 'work_in_progress'],
    ...shownFigures.map(({ relation }) => relation.name),
  ]),
].sort()

/** Names of people and places aren't figures. */
const ofFigures = asked.filter((name) => name !== 'dim_shops' && name !== 'dim_tenants')

export async function readReport(options: ReportOptions): Promise<ReportData> {
  const { label, timeZone, nowMicros } = options
  const madeAt = fromMicros(nowMicros)
  const today = dayOf(timeZone, madeAt, endDay(nowMicros)) ?? madeAt.slice(0, 10)
  const head = { madeAt, warehouse: label, today, timeZone }
  const none = { belongsTo: null, months: [], lastMonth: null, periods: [], scopes: [], tenants: [] }
  const found = await withData(options, asked, (opened) => figuresOf(opened, options, today))
  return { ...head, ...(found ?? none) }
}

async function figuresOf(
  { held, belongsTo, subject, rule, found }: OpenedWarehouse,
  options: ReportOptions,
  today: string,
): Promise<Pick<ReportData, 'belongsTo' | 'months' | 'lastMonth' | 'periods' | 'scopes' | 'tenants'>> {
  const { warehouse, nowMicros } = options
  const first = (await askExtent(subject))?.first ?? null
  const reached = completeDay(found.lists, nowMicros)
  const months = monthsOf({ first, today, completeDay: reached })
  const whole = months.findLastIndex(({ isPartial }) => !isPartial)
  const lastMonth = whole === -1 ? null : whole
  const calendar = { months, lastMonth, completeDay: reached }
  const periods = periodsOf(calendar)
  const last = (months[lastMonth ?? months.length - 1] ?? { month: today.slice(0, 7) }).month
  const from = months[0]?.month ?? last
  const findings = await findingsOf(subject, found, {
    from,
    undecidedSince: fromMicros(nowMicros - followedMicros).slice(0, 10),
  })
  const rows = await figureRows(subject, from, periods, paceMonths(calendar), findings.shops)
  const incidents = await openIncidents(warehouse, held.db)
  const trusted = { ...rule, incidents, belongsTo, restsOn: restsOn(ofFigures, warehouse) }
  const scene = { ...trusted, subject, findings, rows, months, last, completeDay: reached }
  return { belongsTo, months, lastMonth, periods, ...(await tenantsAndScopes(scene)) }
}

/** Which lists the report's figures depend on: the resources whose rows these views show. */
function restsOn(names: readonly string[], { tables }: Warehouse): ReadonlySet<string> {
  const read = tablesBehind(declaredViews.filter(({ name }) => names.includes(name)))
  const all = tables.filter(({ name }) => read.has(name)).map(({ resource }) => resource)
  return new Set(all.filter((resource) => resource !== ''))
}

/** Words without a meaning, which leave only a declaration's tables. Names of people and places aren't figures. */
const silent: ViewWords = {
  now: '',
  key: () => '',
  name: () => '',
  tenantName: () => '',
  ids: () => '',
  enabled: () => [],
  liveRows: () => '',
  zone: () => '',
  day: () => '',
  shopDay: () => ({ day: '', local: '', join: '' }),
  get plainDays() {
    return silent
  },
  dayNumber: () => '',
  month: () => '',
  dayText: () => '',
  minutes: () => '',
  nine: () => '',
  sumNine: () => '',
  summand: () => '',
  sums: () => '',
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
