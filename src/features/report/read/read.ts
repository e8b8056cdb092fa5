/*
 * Asks the warehouse everything that the report shows: a dozen statements over the views for analysts, whatever the
 * number of tenants. Used by `shopsync report`, the step of that name in a job, and the demo.
 */
import { fromMicros } from '../../../engine/base/timestamp.js'
import { openIncidents } from '../../alerts/openincidents.js'
import { dayOf, endDay } from '../../analytics/shopday.js'
import type { ReportData } from '../data.js'
import { askExtent } from './asksales.js'
import { findingsOf } from './findings.js'
import { type OpenedWarehouse, type ReportOptions, withData } from './opening.js'
import { monthsOf } from './reportdays.js'
import { restsOn } from './restson.js'
import { tenantsAndScopes } from './scopes.js'
import { completeDay } from './trust.js'

/** Recommendations without a decision are followed up for so many days. */
const followedMicros = 90n * 86_400_000_000n

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

export async function readReport(options: ReportOptions): Promise<ReportData> {
  const { label, timeZone, nowMicros } = options
  const madeAt = fromMicros(nowMicros)
  const today = dayOf(timeZone, madeAt, endDay(nowMicros)) ?? madeAt.slice(0, 10)
  const head = { madeAt, warehouse: label, today, timeZone }
  const none = { months: [], lastMonth: null, scopes: [], tenants: [] }
  const found = await withData(options, asked, (opened) => figuresOf(opened, options, today))
  return { ...head, ...(found ?? none) }
}

async function figuresOf(
  { held, subject, freshness }: OpenedWarehouse,
  options: ReportOptions,
  today: string,
): Promise<Pick<ReportData, 'months' | 'lastMonth' | 'scopes' | 'tenants'>> {
  const { warehouse, nowMicros, staleAfterMs, deletesUncheckedAfterMs } = options
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
  const incidents = await openIncidents(warehouse, held.db)
  const rule = {
    ...{ nowMicros, staleAfterMs, deletesUncheckedAfterMs, incidents },
    restsOn: restsOn(asked, warehouse),
  }
  return {
    months,
    lastMonth,
    ...(await tenantsAndScopes(subject, findings, { ...rule, months, lastMonth, last })),
  }
}
