/* Makes of rows the numbers of a scope: all tenants together, or one of them. */
import type {
  AdviceNumbers,
  CostBand,
  CycleNumbers,
  MonthNumbers,
  NeedsAnswer,
  RankedShop,
  RankedTechnician,
  ReceivableAge,
  ReportMonth,
  ReportScope,
  StandingLine,
} from '../data.js'
import { type Findings, usualMonths } from './findings.js'
import { groupedBy, numberFrom } from './reportdays.js'

type Row<N extends keyof Findings> = Findings[N][number]

/** Adds up what is said of each row. */
const total = <T>(rows: readonly T[], of: (row: T) => unknown): number =>
  rows.reduce((sum, row) => sum + numberFrom(of(row)), 0)

export function monthNumbers(
  findings: Pick<Findings, 'sales' | 'orders' | 'customers'>,
  months: readonly ReportMonth[],
): MonthNumbers[] {
  const sales = groupedBy(findings.sales, ({ month }) => month ?? '')
  const orders = groupedBy(findings.orders, ({ month }) => month ?? '')
  const customers = groupedBy(findings.customers, ({ first_month }) => first_month ?? '')
  return months.map(({ month }) => {
    const shops: readonly Row<'sales'>[] = sales.get(month) ?? []
    const of: readonly Row<'orders'>[] = orders.get(month) ?? []
    return {
      invoices: total(shops, (row) => row.invoices),
      cars: total(shops, (row) => row.cars),
      hours: total(shops, (row) => row.hours),
      ratedHours: total(of, (row) => row.rated_hours),
      laborCents: total(of, (row) => row.labor) - total(of, (row) => row.labor_discount),
      salesCents: total(shops, (row) => row.sales),
      grossProfitCents: total(shops, (row) => row.profit),
      salesWithProfitCents: total(shops, (row) => row.sales_with_profit),
      invoicesWithoutProfit: total(shops, (row) => row.without_profit),
      totalCents: total(shops, (row) => row.total),
      invoicesWithoutTotal: total(shops, (row) => row.without_total),
      customers: total(of, (row) => row.customers),
      newCustomers: total(customers.get(month) ?? [], (row) => row.customers),
    }
  })
}

/** A month without invoices. */
export const noNumbers: MonthNumbers = {
  invoices: 0,
  cars: 0,
  hours: 0,
  ratedHours: 0,
  laborCents: 0,
  salesCents: 0,
  grossProfitCents: 0,
  salesWithProfitCents: 0,
  invoicesWithoutProfit: 0,
  totalCents: 0,
  invoicesWithoutTotal: 0,
  customers: 0,
  newCustomers: 0,
}

function advice(findings: Findings, months: readonly ReportMonth[]): AdviceNumbers[] {
  const groups = groupedBy(findings.recommendations, ({ month }) => month ?? '')
  return months.map(({ month }) => {
    const rows: readonly Row<'recommendations'>[] = groups.get(month) ?? []
    const unsold = (decision: string): number =>
      total(
        rows.filter((row) => row.decision === decision),
        (row) => numberFrom(row.all) - numberFrom(row.sold_later),
      )
    const notApproved = rows.filter(({ decision }) => decision !== 'approved')
    return {
      approved: total(
        rows.filter(({ decision }) => decision === 'approved'),
        (row) => row.all,
      ),
      soldLater: total(notApproved, (row) => row.sold_later),
      declined: unsold('declined'),
      undecided: unsold('undecided'),
      valueCents: total(rows, (row) => row.value),
      withoutValue: total(rows, (row) => row.without),
    }
  })
}

function cycles(findings: Findings, months: readonly ReportMonth[]): CycleNumbers[] {
  const groups = groupedBy(findings.cycles, ({ month }) => month ?? '')
  return months.map(({ month }) => {
    const rows: readonly Row<'cycles'>[] = groups.get(month) ?? []
    return {
      bands: (['band0', 'band1', 'band2', 'band3', 'band4'] as const).map((band) =>
        total(rows, (row) => row[band]),
      ),
      unknown: total(rows, (row) => row.unknown),
      late: total(rows, (row) => row.late),
      due: total(rows, (row) => row.due),
    }
  })
}

function shopsOf(findings: Findings, months: readonly ReportMonth[], nameOf: ShopNames): RankedShop[] {
  const shops = [...groupedBy(findings.sales, ({ shop_key, tenant_id }) => shop_key ?? `${tenant_id}-`)]
  return shops
    .map(([key, rows]) => {
      const byMonth = groupedBy(rows, ({ month }) => month ?? '')
      const values = months.map(({ month }) => total(byMonth.get(month) ?? [], (row) => row.sales))
      return { key, name: nameOf(rows[0]), salesCents: values }
    })
    .sort(
      (a, b) =>
        total(b.salesCents, (cents) => cents) - total(a.salesCents, (cents) => cents) ||
        (a.key < b.key ? -1 : 1),
    )
}

/** How a shop is called where its tenant goes without saying, or does not. */
export type ShopNames = (row: Row<'sales'> | undefined) => string

function technicians(findings: Findings, last: string): RankedTechnician[] {
  const named = findings.technicians.filter(({ technician_key }) => technician_key !== null)
  return [...groupedBy(named, ({ technician_key }) => technician_key ?? '')]
    .map(([, rows]) => {
      const now = rows.filter(({ month }) => month === last)
      const before = rows.filter(({ month }) => month !== last)
      return {
        name: rows[0]?.technician_name ?? '',
        hours: total(now, (row) => row.hours),
        usualHours: total(before, (row) => row.hours) / usualMonths,
        invoices: total(now, (row) => row.invoices),
      }
    })
    .sort((a, b) => b.hours - a.hours || b.usualHours - a.usualHours || a.name.localeCompare(b.name, 'en'))
}

const costBands = (findings: Findings): CostBand[] =>
  [...groupedBy(findings.margins, ({ cost_band }) => cost_band ?? '')]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([band, rows]) => ({
      band,
      parts: total(rows, (row) => row.parts),
      soldCents: total(rows, (row) => row.sold),
      costCents: total(rows, (row) => row.cost),
      marginCents: total(rows, (row) => row.margin),
      withoutCost: total(rows, (row) => row.without),
    }))

const receivables = (findings: Findings): ReceivableAge[] =>
  [...groupedBy(findings.receivables, ({ bucket }) => bucket ?? '')].map(([bucket, rows]) => ({
    bucket,
    invoices: total(rows, (row) => row.owing),
    cents: total(rows, (row) => row.to_collect),
    unknown: total(rows, (row) => row.unknown),
    atLeastCents: total(rows, (row) => row.at_least),
    overpaid: total(rows, (row) => row.overpaid),
    creditCents: -total(rows, (row) => row.credit) || 0,
  }))

const standings = (findings: Findings): StandingLine[] =>
  [...groupedBy(findings.customers, ({ standing }) => standing ?? '')].map(([standing, rows]) => ({
    standing,
    customers: total(rows, (row) => row.customers),
    salesCents: total(rows, (row) => row.sales),
  }))

/** Without the lists of single orders, which are asked for where a scope is shown. */
export function needsOf(findings: Findings): NeedsAnswer {
  const ages = receivables(findings)
  const overdue = ages.filter(({ bucket }) => bucket !== '0 to 30')
  const sums = (lines: readonly ReceivableAge[]) => ({
    invoices: total(lines, (line) => line.invoices),
    cents: total(lines, (line) => line.cents),
    unknown: total(lines, (line) => line.unknown),
    atLeastCents: total(lines, (line) => line.atLeastCents),
    overpaid: total(lines, (line) => line.overpaid),
    creditCents: total(lines, (line) => line.creditCents),
  })
  return {
    open: {
      orders: total(findings.open, (row) => row.orders),
      salesCents: total(findings.open, (row) => row.sales),
    },
    late: {
      orders: total(findings.open, (row) => row.late),
      salesCents: total(findings.open, (row) => row.late_sales),
    },
    lateOrders: [],
    receivables: sums(ages),
    overdue: sums(overdue),
    overdueOrders: [],
    undecided: {
      count: total(findings.undecided, (row) => row.all),
      valueCents: total(findings.undecided, (row) => row.value),
      withoutValue: total(findings.undecided, (row) => row.without),
    },
  }
}

/** The part of a scope that follows from its findings. */
export function foldedScope(
  findings: Findings,
  months: readonly ReportMonth[],
  last: string,
  nameOf: ShopNames,
): Omit<ReportScope, 'id' | 'title' | 'trust' | 'behind' | 'shops'> {
  const without = findings.technicians.filter((row) => row.technician_key === null && row.month === last)
  return {
    months: monthNumbers(findings, months),
    advice: advice(findings, months),
    cycles: cycles(findings, months),
    byShop: shopsOf(findings, months, nameOf),
    technicians: technicians(findings, last),
    hoursWithoutTechnician: total(without, (row) => row.hours),
    costBands: costBands(findings),
    receivables: receivables(findings),
    standings: standings(findings),
    needs: needsOf(findings),
  }
}
