/*
 * The declared figures in the report, queried for all tenants at once: by month, in each period, and from the first day
 * of the current month to each of its days. Rows are by shop, since a shop counts in a comparison or doesn't.
 */
import { type DeclaredFigure, isMoment } from '../../../../schema/figure.js'
import averageRepairOrder from '../../../../schema/figures/average_repair_order.js'
import cars from '../../../../schema/figures/cars.js'
import collected from '../../../../schema/figures/collected_cents.js'
import credits from '../../../../schema/figures/credits_cents.js'
import customers from '../../../../schema/figures/customers.js'
import deposits from '../../../../schema/figures/deposits_cents.js'
import effectiveLaborRate from '../../../../schema/figures/effective_labor_rate.js'
import grossMargin from '../../../../schema/figures/gross_margin.js'
import grossProfit from '../../../../schema/figures/gross_profit_cents.js'
import grossProfitPerHour from '../../../../schema/figures/gross_profit_per_hour.js'
import hoursPerOrder from '../../../../schema/figures/hours_per_order.js'
import hoursSold from '../../../../schema/figures/hours_sold.js'
import { figures as declaredFigures } from '../../../../schema/figures/index.js'
import invoices from '../../../../schema/figures/invoices.js'
import newCustomers from '../../../../schema/figures/new_customers.js'
import openEstimates from '../../../../schema/figures/open_estimates.js'
import ordersInProgress from '../../../../schema/figures/orders_in_progress.js'
import partsMargin from '../../../../schema/figures/parts_margin.js'
import receivables from '../../../../schema/figures/receivables_cents.js'
import sales from '../../../../schema/figures/sales_cents.js'
import serviceSales from '../../../../schema/figures/service_sales_cents.js'
import shareLate from '../../../../schema/figures/share_late.js'
import technicianHours from '../../../../schema/figures/technician_hours.js'
import workInProgress from '../../../../schema/figures/work_in_progress_cents.js'
import { askFigures, type FigureQuestion, type FigureRow } from '../../analytics/figuresql.js'
import type { DayRange, ReportPeriod } from '../data.js'
import type { Findings } from './findings.js'
import { isOpenSince, monthsLater, type Subject } from './reportdays.js'

/** Distinct counts: counted over the rows of a whole group, and never added. */
const distinct: readonly DeclaredFigure[] = [cars, customers]

const ofPeriods: readonly DeclaredFigure[] = [
  ...[sales, grossProfit, grossMargin, averageRepairOrder, invoices, hoursSold, hoursPerOrder],
  ...[effectiveLaborRate, grossProfitPerHour, newCustomers, shareLate],
]

/** Of a single day. */
const ofDay: readonly DeclaredFigure[] = [sales, averageRepairOrder, invoices, collected, deposits]

/** Every figure of a period, including figures added later. */
export const flowFigures = declaredFigures.filter(
  (figure) => !isMoment(figure) && figure.splits === undefined,
)

const ofAdvisors: readonly DeclaredFigure[] = [grossProfit, sales, grossMargin, averageRepairOrder, invoices]

const ofNow: readonly DeclaredFigure[] = [
  openEstimates,
  ordersInProgress,
  workInProgress,
  receivables,
  credits,
]

/** All figures in the report. */
export const shownFigures: readonly DeclaredFigure[] = [
  ...flowFigures,
  ...ofNow,
  ...[partsMargin, serviceSales, technicianHours],
]

/** The values of a period: each by shop, and by what its name says. */
export interface PeriodRows {
  readonly period: ReportPeriod
  readonly all: readonly FigureRow[]
  /** By tenant: distinct counts. */
  readonly distinct: readonly FigureRow[]
  /** In the order of `period.compared`. */
  readonly compared: readonly (readonly FigureRow[])[]
  /** Distinct counts of the shops that are in both periods, by tenant. */
  readonly comparedCounts: readonly {
    readonly now: readonly FigureRow[]
    readonly before: readonly FigureRow[]
  }[]
  readonly advisors: readonly FigureRow[]
  readonly technicians: readonly FigureRow[]
  readonly techniciansBefore: readonly FigureRow[]
  readonly categories: readonly FigureRow[]
  readonly costBands: readonly FigureRow[]
}

export interface FigureRows {
  readonly months: readonly FigureRow[]
  /** By tenant. */
  readonly distinctMonths: readonly FigureRow[]
  readonly periods: readonly PeriodRows[]
  /** Of the last day on which a shop was open; null if there is none. */
  readonly day: PeriodRows | null
  /** One list per month: sales by day. */
  readonly pace: readonly { readonly month: string; readonly days: readonly FigureRow[] }[]
  readonly open: readonly FigureRow[]
  /** By age bucket. */
  readonly receivables: readonly FigureRow[]
}

const shop = ['tenant_id', 'shop_key'] as const

/**
 * The shops among these rows whose data begins after the beginning of a range. In a comparison, they are on neither side.
 * Those without an invoice have nothing to compare.
 */
export function newerShops(
  rows: readonly FigureRow[],
  shops: Findings['shops'],
  { from, to }: DayRange,
): Findings['shops'] {
  const present = new Set(rows.map(({ keys }) => keys.shop_key))
  return shops.filter(
    ({ shop_key, first_day }) =>
      first_day !== null && present.has(shop_key) && !isOpenSince(first_day, from, to),
  )
}

/**
 * A car that came to two shops counts once: so cars are counted over all compared shops of a tenant, and not added by
 * shop. `all` and `counted` are the rows of the period, by shop and by tenant.
 */
async function comparedCounts(
  subject: Subject,
  [period, before]: readonly [DayRange, DayRange],
  { all, distinct: counted }: Pick<PeriodRows, 'all' | 'distinct'>,
  shops: Findings['shops'],
) {
  const newer = newerShops(all, shops, before)
  const owners = new Map(
    newer.flatMap(({ tenant_id }) => (tenant_id === null ? [] : [[String(tenant_id), tenant_id]])),
  )
  const isWhole = ({ keys }: FigureRow): boolean => !owners.has(keys.tenant_id ?? '')
  const ask = ({ from, to }: DayRange, more: Pick<FigureQuestion, 'tenants' | 'exceptShops'>) =>
    askFigures(subject, distinct, { by: ['tenant_id'], from, to, ...more })
  const earlier = await ask(before, { tenants: subject.tenants })
  if (owners.size === 0) return { now: counted, before: earlier }
  const same = {
    tenants: [...owners.values()],
    exceptShops: newer.flatMap(({ shop_key }) => shop_key ?? []),
  }
  return {
    now: [...counted.filter(isWhole), ...(await ask(period, same))],
    before: [...earlier.filter(isWhole), ...(await ask(before, same))],
  }
}

/** `figures`: of the period, and of those it is compared with. */
async function comparedRows(
  subject: Subject,
  period: ReportPeriod,
  [own, before]: readonly [readonly DeclaredFigure[], readonly DeclaredFigure[]],
  shops: Findings['shops'],
) {
  const { tenants } = subject
  const ask = (figures: readonly DeclaredFigure[], { from, to }: DayRange, by: readonly string[] = shop) =>
    askFigures(subject, figures, { by, tenants, from, to })
  const compared: (readonly FigureRow[])[] = []
  for (const range of period.compared) compared.push(await ask([...before, ...distinct], range))
  const found = { all: await ask(own, period), distinct: await ask(distinct, period, ['tenant_id']) }
  const counts: PeriodRows['comparedCounts'][number][] = []
  for (const range of period.compared)
    counts.push(await comparedCounts(subject, [period, range], found, shops))
  return { period, ...found, compared, comparedCounts: counts }
}

async function periodRows(
  subject: Subject,
  period: ReportPeriod,
  shops: Findings['shops'],
): Promise<PeriodRows> {
  const { tenants } = subject
  const ask = (figures: readonly DeclaredFigure[], { from, to }: DayRange, by: readonly string[]) =>
    askFigures(subject, figures, { by, tenants, from, to })
  const [before] = period.compared
  const technician = [...shop, 'technician_key', 'technician_name']
  return {
    ...(await comparedRows(subject, period, [flowFigures, ofPeriods], shops)),
    advisors: await ask(ofAdvisors, period, [...shop, 'advisor_key', 'advisor_name']),
    technicians: await ask([technicianHours], period, technician),
    techniciansBefore: before ? await ask([technicianHours], before, technician) : [],
    categories: await ask([serviceSales], period, [...shop, 'category']),
    costBands: await ask([partsMargin], period, [...shop, 'cost_band']),
  }
}

/**
 * From the month `from` on. `day`: the last day on which a shop was open. `paced`: months whose sales are shown by day.
 * `shops`: with the days on which their data begins.
 */
export async function figureRows(
  subject: Subject,
  {
    from,
    periods,
    day,
    paced,
  }: {
    readonly from: string
    readonly periods: readonly ReportPeriod[]
    readonly day: ReportPeriod | null
    readonly paced: readonly string[]
  },
  shops: Findings['shops'],
): Promise<FigureRows> {
  const { tenants } = subject
  const since = { tenants, from: `${from}-01` }
  const found: PeriodRows[] = []
  for (const period of periods) found.push(await periodRows(subject, period, shops))
  const pace: { month: string; days: readonly FigureRow[] }[] = []
  // Queried by the day as text, where the others use the month.
  const byDay = { db: subject.db, month: subject.day }
  for (const month of paced) {
    const range = { from: `${month}-01`, to: `${monthsLater(month, 1)}-01` }
    pace.push({
      month,
      days: await askFigures(byDay, [sales], { by: [...shop, 'month'], tenants, ...range }),
    })
  }
  const now = { by: shop, tenants }
  return {
    months: await askFigures(subject, [...ofPeriods, ...distinct], { ...since, by: [...shop, 'month'] }),
    distinctMonths: await askFigures(subject, distinct, { ...since, by: ['tenant_id', 'month'] }),
    periods: found,
    day: day && {
      ...(await comparedRows(subject, day, [[...ofDay, ...distinct], ofDay], shops)),
      // A day is too short to compare people.
      advisors: [],
      technicians: [],
      techniciansBefore: [],
      categories: [],
      costBands: [],
    },
    pace,
    open: await askFigures(subject, ofNow, now),
    receivables: await askFigures(subject, [receivables], { ...now, by: [...shop, 'bucket'] }),
  }
}
